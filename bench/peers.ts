import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type Child, cores, freePort, start, waitFor } from './children.ts';
import { cheapRequest } from './workloads.ts';

/** What is measured. The first is what all others are compared with. */
export const peers = [
  { name: 'apollo', title: 'Apollo Server, the idiom', protocol: 'graphql' },
  { name: 'ours', title: 'ledger-gateway', protocol: 'graphql' },
  { name: 'mercurius', title: 'Mercurius, jit and undici', protocol: 'graphql' },
  { name: 'yoga', title: 'GraphQL Yoga', protocol: 'graphql' },
  { name: 'proxy', title: 'bare proxy, the limit', protocol: 'bare' },
] as const;

export type Peer = (typeof peers)[number];

export type Running = {
  peer: Peer;
  child: Child;
  origin: string;
  /** From its start to its first answer with 200. */
  readyMs: number;
};

export type Credentials = {
  token: string;
  /** What our gateway verifies the token with. */
  environment: Record<string, string>;
  remove(): void;
};

/** A token, and the key set file that it verifies with. The private key is kept nowhere. */
export async function createCredentials(): Promise<Credentials> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-bench-'));
  const file = join(folder, 'jwks.json');
  const key = { ...(await exportJWK(publicKey)), kid: 'bench', alg: 'ES256', use: 'sig' };
  writeFileSync(file, JSON.stringify({ keys: [key] }));
  const issuer = 'https://issuer.example.com/';
  const audience = 'ledger-gateway';
  const token = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256', kid: 'bench', typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject('bench')
    .setIssuedAt()
    .setExpirationTime('12h')
    .sign(privateKey);
  return {
    token,
    environment: { JWT_JWKS_FILE: file, JWT_ISSUER: issuer, JWT_AUDIENCE: audience },
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** Starts the load process, which waits for jobs. */
export function startLoad(): Child {
  return start(cores.load, new URL('load.ts', import.meta.url), { ipc: true });
}

/** Starts the stub service. */
export async function startService(delayMs: number): Promise<{ child: Child; origin: string }> {
  const port = await freePort();
  const child = start(cores.service, new URL('service.ts', import.meta.url), {
    args: [String(port), String(delayMs)],
  });
  const origin = `http://127.0.0.1:${port}`;
  await waitFor(child, origin, { method: 'GET', path: '/__calls', headers: {} });
  return { child, origin };
}

/**
 * Starts a peer before the service; ours (`gateway`, its entry point) as it runs in production, its
 * log into /dev/null.
 */
export async function startPeer(
  peer: Peer,
  gateway: URL,
  service: string,
  credentials: Credentials,
  nodeArgs: string[] = [],
): Promise<Running> {
  const port = await freePort();
  const ours = peer.name === 'ours';
  const script = ours ? gateway : new URL(`peers/${peer.name}.ts`, import.meta.url);
  const child = start(cores.gateway, script, {
    nodeArgs,
    environment: {
      HOST: '127.0.0.1',
      PORT: String(port),
      UPSTREAM_BASE_URL: `${service}/`,
      ...(ours ? credentials.environment : {}),
    },
  });
  const origin = `http://127.0.0.1:${port}`;
  const readyMs = await waitFor(child, origin, cheapRequest(peer.protocol, credentials.token));
  return { peer, child, origin, readyMs };
}
