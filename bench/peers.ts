import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startIssuer } from '../dev/issuer.ts';
import { freePort } from '../testkit/port.ts';
import type { PostgresServer } from '../testkit/postgres.ts';
import { type Child, cores, reply, start, waitFor } from './children.ts';
import type { ServiceCounts, ServiceSetup } from './service.ts';
import { prepareStore, type StoreName } from './stores.ts';
import { cheapRequest, type Protocol } from './workloads.ts';

export type Peer = {
  name: string;
  title: string;
  protocol: Protocol;
  /** Whether it verifies tokens. */
  verifies?: boolean;
  /** Our gateway, with this store of idempotency keys. */
  store?: StoreName;
  /** How long a message takes to the server of the store, and back, in milliseconds. */
  storeDelayMs?: number;
  /** Variables of our gateway, in addition to the usual ones. */
  variables?: Record<string, string>;
  /** Our gateway in another checkout: its entry point. */
  entry?: URL;
};

/** Our gateway. */
export const ours: Peer = {
  name: 'ours',
  title: 'ledger-gateway',
  protocol: 'graphql',
  store: 'memory',
};

/** Our gateway, with a cache of reads. It is measured only in workloads that read the same list again. */
export const cached: Peer = {
  ...ours,
  name: 'cached',
  title: 'ledger-gateway, READ_CACHE_S=60',
  variables: { READ_CACHE_S: '60' },
};

/** The servers to compare. The first is the baseline. */
export const peers: readonly Peer[] = [
  { name: 'apollo', title: 'Apollo Server (baseline)', protocol: 'graphql' },
  ours,
  cached,
  { name: 'stack', title: 'bare server of the same stack', protocol: 'graphql', verifies: true },
  {
    name: 'mercurius-dressed',
    title: 'Mercurius with our duties',
    protocol: 'graphql',
    verifies: true,
  },
  { name: 'node-dressed', title: 'node:http with our duties', protocol: 'graphql', verifies: true },
  { name: 'mercurius', title: 'Mercurius, jit and undici', protocol: 'graphql' },
  { name: 'yoga', title: 'GraphQL Yoga', protocol: 'graphql' },
  { name: 'proxy', title: 'bare proxy (lower bound)', protocol: 'bare' },
];

export type Running = {
  peer: Peer;
  child: Child;
  origin: string;
  redis?: Child;
  postgres?: PostgresServer;
  /** From the start of the process to its first response with 200. */
  readyMs: number;
};

export type Credentials = {
  token: string;
  /** Creates a token of another caller. */
  tokenOf(subject: string): Promise<string>;
  /** The variables with which our gateway verifies the token. */
  environment: Record<string, string>;
  /** Deleted by `remove`, together with all that is in it. */
  folder: string;
  remove(): void;
};

/** Creates a token and the key set file that verifies it. The private key is not stored. */
export async function createCredentials(): Promise<Credentials> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-bench-'));
  const file = join(folder, 'jwks.json');
  const { jwks, issuer, audience, ...started } = await startIssuer();
  writeFileSync(file, JSON.stringify(jwks));
  const token = await started.token({ sub: 'bench' });
  await started.close();
  return {
    token,
    tokenOf: (sub) => started.token({ sub }),
    environment: { JWT_JWKS_FILE: file, JWT_ISSUER: issuer, JWT_AUDIENCE: audience },
    folder,
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Starts the load process, which then waits for jobs. */
export function startLoad(): Child {
  return start(cores.load, new URL('load.ts', import.meta.url), { ipc: true });
}

/** The stub service, with the CA that its certificate is from if it has TLS. */
export type Service = { child: Child; origin: string; caFile?: string };

/** Starts the stub service. */
export async function startService(
  setup: Partial<ServiceSetup> = {},
  caFile?: string,
): Promise<Service> {
  const all: ServiceSetup = { delayMs: 0, announces: true, ...setup };
  const args = [JSON.stringify(all)];
  const child = start(cores.service, new URL('service.ts', import.meta.url), { args, ipc: true });
  const port = await reply<number>(child);
  const origin = `${all.tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  return { child, origin, ...(caFile !== undefined && { caFile }) };
}

/** What has arrived at the service so far. */
export function countsOf({ child }: Service): Promise<ServiceCounts> {
  child.process.send('counts');
  return reply(child);
}

/**
 * Starts a peer that uses the service, and the peer's Redis. Our gateway (`gateway` is its entry point) runs as in
 * production, with its log in /dev/null. It is ready when it responds to the request `ready` with 200.
 */
export async function startPeer(
  peer: Peer,
  gateway: URL,
  service: Service,
  credentials: Credentials,
  nodeArgs: string[] = [],
  ready = cheapRequest(peer.protocol, credentials.token),
): Promise<Running> {
  const port = await freePort();
  const store =
    peer.store && (await prepareStore(peer.store, credentials.folder, peer.storeDelayMs));
  const script = store
    ? (peer.entry ?? gateway)
    : new URL(`peers/${peer.name}.ts`, import.meta.url);
  const child = start(cores.gateway, script, {
    nodeArgs,
    ipc: nodeArgs.includes('--import'),
    environment: {
      HOST: '127.0.0.1',
      PORT: String(port),
      UPSTREAM_BASE_URL: `${service.origin}/`,
      ...(service.caFile !== undefined && { NODE_EXTRA_CA_CERTS: service.caFile }),
      ...((store ?? peer.verifies) && credentials.environment),
      ...(store && {
        IDEMPOTENCY_STORE: store.setting,
        IDEMPOTENCY_MAX_KEYS: '100000000',
        ...peer.variables,
      }),
    },
  });
  const origin = `http://127.0.0.1:${port}`;
  const readyMs = await waitFor(child, origin, ready);
  const { setting: _, ...servers } = store ?? { setting: '' };
  return { peer, child, origin, readyMs, ...servers };
}
