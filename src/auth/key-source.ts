import type { JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import type { Issuer } from './issuer.ts';
import { createKeyFinder } from './key-finder.ts';
import { type KeySet, logLeftOut } from './key-set.ts';
import { RemoteKeySet } from './remote-key-set.ts';

/** The issuers whose tokens are accepted, each with its keys. */
export type KeySource = ReturnType<typeof createKeySource>;

type Accepted = {
  issuer: Issuer;
  /** Finds the key of a token. Throws KeysUnavailable, or an error of jose. */
  findKey: JWTVerifyGetKey;
  /** Undefined if the keys are those of a file. */
  remote: RemoteKeySet | undefined;
};

/**
 * Finds the keys of issuers. The keys of an issuer are used for its own tokens only. Issuers share keys only if they name the
 * same file or the same URL. `onChange` is called when other keys or issuers are in use.
 */
export function createKeySource(issuers: readonly Issuer[], log: Logger, onChange: () => void) {
  /** The keys that are fetched, by the URL where they are, or by the issuer where this URL is found. */
  const fetched = new Map<string, RemoteKeySet>();
  const logged = new WeakSet<KeySet>();
  let accepted = accept(issuers);

  function accept(all: readonly Issuer[]): Map<string, Accepted> {
    return new Map(all.map((issuer) => [issuer.issuer, { issuer, ...keysOf(issuer) }]));
  }

  function keysOf(issuer: Issuer): Pick<Accepted, 'findKey' | 'remote'> {
    const { keys } = issuer;
    if (keys && !(keys instanceof URL)) {
      const { path, value } = keys;
      if (!logged.has(value)) logLeftOut(log.child({ file: path }), value);
      logged.add(value);
      return { findKey: createKeyFinder(value, issuer), remote: undefined };
    }
    const id = keys ? `of the URL ${keys.href}` : `of the issuer ${issuer.issuer}`;
    const remote = fetched.get(id) ?? new RemoteKeySet(keys, issuer.issuer, log, onChange);
    fetched.set(id, remote);
    return { findKey: remote.finderOf(issuer), remote };
  }

  function ofEach(read: (set: RemoteKeySet) => number): [{ issuer: string }, number][] {
    return [...accepted].flatMap(([issuer, { remote }]) =>
      remote ? [[{ issuer }, read(remote)]] : [],
    );
  }

  return {
    /** The accepted issuer with exactly this name, and its keys. */
    find: (name: unknown) => (typeof name === 'string' ? accepted.get(name) : undefined),
    /** Whether the keys of any issuer are available. */
    isReady: () => [...accepted.values()].some(({ remote }) => remote?.lastFetch !== 0),
    /** When the keys of each issuer were last fetched, in seconds since 1970, or 0. Issuers whose keys are in a file are left out. */
    lastFetches: () => ofEach((set) => set.lastFetch),
    /** How many seconds ago that was, or Infinity. */
    ages: () => ofEach((set) => set.ageS),
    /** Replaces the issuers, and the keys that are in files. Throws if a file is not valid, and then changes nothing. */
    useIssuers(changed: readonly Issuer[]) {
      // A file that is not valid throws here, before keys of others are fetched.
      for (const { keys } of changed) if (keys && !(keys instanceof URL)) void keys.value;
      accepted = accept(changed);
      const used = new Set([...accepted.values()].map(({ remote }) => remote));
      for (const [id, remote] of fetched) {
        if (used.has(remote)) continue;
        remote.close();
        fetched.delete(id);
      }
      onChange();
    },
    close() {
      for (const remote of fetched.values()) remote.close();
    },
  };
}
