import { createLocalJWKSet } from 'jose';
import type { Logger } from 'pino';
import { discoverKeysUrl } from './discovery.ts';
import { type KeySet, logLeftOut, selecting } from './key-set.ts';
import { createRemoteKeySet } from './remote-key-set.ts';

/** The keys with which tokens are verified. */
export type KeySource = ReturnType<typeof createKeySource>;

/**
 * The keys of a file or URL, which are valid for the tokens of every issuer. Without a file or URL, the keys that each issuer
 * publishes by discovery, which are valid only for its own tokens. `onChange` is called when other keys are in use.
 */
export function createKeySource(
  keys: URL | KeySet | undefined,
  issuers: readonly string[],
  log: Logger,
  onChange: () => void,
) {
  const create = (set: KeySet) => {
    logLeftOut(log, set);
    return selecting(createLocalJWKSet(set), set);
  };
  let ofFile = keys && !(keys instanceof URL) ? create(keys) : undefined;
  const ofUrl =
    keys instanceof URL ? createRemoteKeySet(keys, async () => keys, log, onChange) : undefined;
  const discovered = (issuer: string) => {
    const locate = (signal: AbortSignal) => discoverKeysUrl(issuer, signal);
    return createRemoteKeySet(new URL(issuer), locate, log.child({ issuer }), onChange);
  };
  const remote = ofFile
    ? []
    : issuers.map((issuer) => [issuer, ofUrl ?? discovered(issuer)] as const);
  type RemoteKeys = (typeof remote)[number][1];
  const ofEach = (read: (set: RemoteKeys) => number) =>
    remote.map(([issuer, set]): [{ issuer: string }, number] => [{ issuer }, read(set)]);
  return {
    /** The keys for tokens of an issuer. Undefined if the issuer is not configured. */
    keysOf: (issuer: unknown) => ofFile ?? remote.find(([name]) => name === issuer)?.[1].get,
    /** Whether the keys of any issuer are available. */
    isReady: () => ofFile !== undefined || remote.some(([, set]) => set.lastFetch() > 0),
    /** When the keys of each issuer were last fetched, in seconds since 1970, or 0. Empty if they are those of a file. */
    lastFetches: () => ofEach((set) => set.lastFetch()),
    /** How many seconds ago that was, or Infinity. */
    ages: () => ofEach((set) => set.ageS()),
    /** Replaces the keys of a file. */
    useKeys(changed: KeySet) {
      ofFile = create(changed);
      onChange();
    },
    close() {
      for (const [, set] of remote) set.close();
    },
  };
}
