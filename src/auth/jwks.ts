import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { discoverKeysUrl } from './discovery.ts';
import { KEY_SERVER_TIMEOUT_MS, RemoteKeys } from './remote-keys.ts';

/** The keys that tokens are verified with. */
export type KeySource = {
  /** The keys for tokens of an issuer. Undefined if the issuer is none of those that are configured. */
  keysOf(issuer: unknown): JWTVerifyGetKey | undefined;
  /** Whether the keys of every issuer are available. */
  isReady(): boolean;
  close(): void;
};

/**
 * The keys of a file or URL, which are valid for every issuer; without either, those that each issuer
 * publishes by discovery, which are valid for its own tokens only.
 */
export function createKeySource(
  keys: URL | JSONWebKeySet | undefined,
  issuers: readonly string[],
  log: Logger,
): KeySource {
  if (keys === undefined) return discoveredKeys(issuers, log);
  if (!(keys instanceof URL)) {
    const getKey = createLocalJWKSet(keys);
    return { keysOf: () => getKey, isReady: () => true, close() {} };
  }
  const remote = new RemoteKeys(async () => keys, log);
  const getKey: JWTVerifyGetKey = (header, token) => remote.get(header, token);
  return { keysOf: () => getKey, isReady: () => remote.isReady, close: () => remote.close() };
}

function discoveredKeys(issuers: readonly string[], log: Logger): KeySource {
  const byIssuer = new Map<unknown, RemoteKeys>(
    issuers.map((issuer) => [
      issuer,
      new RemoteKeys(() => discoverKeysUrl(issuer, KEY_SERVER_TIMEOUT_MS), log.child({ issuer })),
    ]),
  );
  const all = [...byIssuer.values()];
  return {
    keysOf(issuer) {
      const remote = byIssuer.get(issuer);
      return remote && ((header, token) => remote.get(header, token));
    },
    isReady: () => all.every(({ isReady }) => isReady),
    close() {
      for (const remote of all) remote.close();
    },
  };
}
