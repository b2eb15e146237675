import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startIssuer } from '../dev/issuer.ts';
import { freePort } from '../testkit/port.ts';
import { isPostgresInstalled, startPostgres } from '../testkit/postgres.ts';
import { isRedisInstalled, startRedis } from '../testkit/redis.ts';
import { type Child, cores, reply, start, waitFor } from './children.ts';
import type { ServiceCounts, ServiceSetup } from './service.ts';
import { cheapRequest } from './workloads.ts';

export type Peer = {
  name: string;
  title: string;
  /** Whether it is a gateway, of this checkout or another one. */
  isOurs?: boolean;
  /** The entry point. */
  entry: URL;
  /** Variables in addition to the usual ones. */
  variables?: Record<string, string>;
  /** Starts a store of idempotency keys, and returns the value of IDEMPOTENCY_STORE. In memory by default. */
  startStore?: (folder: string) => Promise<string>;
};

/** Our gateway. */
export const ours: Peer = {
  name: 'ours',
  title: 'ledger-gateway',
  isOurs: true,
  entry: new URL('../src/main.ts', import.meta.url),
};

/** The servers to compare. The first is the baseline. */
export const peers: readonly Peer[] = [
  {
    name: 'apollo',
    title: 'Apollo Server',
    entry: new URL('peers/apollo.ts', import.meta.url),
  },
  ours,
  {
    name: 'stack',
    title: 'bare stack of the gateway',
    entry: new URL('peers/stack.ts', import.meta.url),
  },
  {
    name: 'mercurius',
    title: "Mercurius with the gateway's duties",
    entry: new URL('peers/mercurius.ts', import.meta.url),
  },
];

/** The gateway with each store of idempotency keys that is installed here. `closeAll` stops the servers. */
export const stores: readonly Peer[] = [
  { name: 'memory', title: 'memory' },
  {
    name: 'file',
    title: 'file',
    startStore: async (folder: string) => `file:${join(folder, crypto.randomUUID())}`,
  },
  { name: 'redis', title: 'Redis', startStore: async () => (await startRedis()).url },
  { name: 'postgres', title: 'PostgreSQL', startStore: async () => (await startPostgres()).url },
]
  .filter(({ name }) => name !== 'redis' || isRedisInstalled)
  .filter(({ name }) => name !== 'postgres' || isPostgresInstalled)
  .map((store) => ({ ...ours, ...store }));

export type Running = { peer: Peer; child: Child; origin: string };

export type Credentials = {
  token: string;
  /** Creates a token of another caller. */
  tokenOf(subject: string): Promise<string>;
  /** The variables with which a peer verifies tokens. */
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
  setup: ServiceSetup = { announces: true },
  caFile?: string,
): Promise<Service> {
  const args = [JSON.stringify(setup)];
  const child = start(cores.service, new URL('service.ts', import.meta.url), { args, ipc: true });
  const port = await reply<number>(child);
  const origin = `${setup.tls ? 'https' : 'http'}://127.0.0.1:${port}`;
  return { child, origin, ...(caFile !== undefined && { caFile }) };
}

/** What has arrived at the service so far. */
export function countsOf({ child }: Service): Promise<ServiceCounts> {
  child.process.send('counts');
  return reply(child);
}

/**
 * Starts a peer that uses the service, and its store. Gateways run as in production, with their log in
 * /dev/null. A peer is idle while others are measured. V8 would then collect garbage, and could throw optimized code away
 * with it.
 */
export async function startPeer(
  peer: Peer,
  service: Service,
  { environment, folder, token }: Credentials,
  { nodeArgs = [], ipc = false }: { nodeArgs?: string[]; ipc?: boolean } = {},
): Promise<Running> {
  const port = await freePort();
  const store = await peer.startStore?.(folder);
  const child = start(cores.gateway, peer.entry, {
    nodeArgs: ['--no-memory-reducer', ...nodeArgs],
    ipc,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(port),
      UPSTREAM_BASE_URL: `${service.origin}/`,
      ...(service.caFile !== undefined && { NODE_EXTRA_CA_CERTS: service.caFile }),
      ...environment,
      ...(peer.isOurs && { IDEMPOTENCY_MAX_KEYS: '100000000' }),
      ...(store !== undefined && { IDEMPOTENCY_STORE: store }),
      ...peer.variables,
    },
  });
  const origin = `http://127.0.0.1:${port}`;
  await waitFor(child, origin, cheapRequest(token));
  return { peer, child, origin };
}
