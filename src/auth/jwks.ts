import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { discoverKeysUrl } from './discovery.ts';
import { RemoteKeySet } from './remote-key-set.ts';

/** When the keys of an issuer were last fetched, in seconds since 1970. 0 if they never were. */
export type KeyFetch = { issuer: string; seconds: number };

/** The keys that tokens are verified with. */
export type KeySource = {
  /** The keys for tokens of an issuer. Undefined if the issuer is none of those that are configured. */
  keysOf(issuer: unknown): JWTVerifyGetKey | undefined;
  /** Whether the keys of any issuer are available. */
  isReady(): boolean;
  /** The last fetch for each configured issuer. Empty if the keys are those of a file. */
  lastFetches(): KeyFetch[];
  /** Replaces the keys of a file. */
  useKeys(keys: JSONWebKeySet): void;
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
  if (keys && !(keys instanceof URL)) {
    let getKey = createLocalJWKSet(keys);
    return {
      keysOf: () => getKey,
      isReady: () => true,
      lastFetches: () => [],
      useKeys(changed) {
        getKey = createLocalJWKSet(changed);
      },
      close() {},
    };
  }
  const shared = keys && new RemoteKeySet(keys, async () => keys, log);
  const discovered = (issuer: string) => {
    const locate = (signal: AbortSignal) => discoverKeysUrl(issuer, signal);
    return new RemoteKeySet(new URL(issuer), locate, log.child({ issuer }));
  };
  const byIssuer = new Map(issuers.map((issuer) => [issuer, shared ?? discovered(issuer)]));
  const sets = [...byIssuer.values()];
  return {
    keysOf: (issuer) => (typeof issuer === 'string' ? byIssuer.get(issuer)?.get : undefined),
    isReady: () => sets.some(({ isReady }) => isReady),
    lastFetches: () => [...byIssuer].map(([issuer, set]) => ({ issuer, seconds: set.lastFetch })),
    useKeys() {},
    close() {
      for (const set of sets) set.close();
    },
  };
}
