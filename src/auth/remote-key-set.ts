import { setTimeout as sleep } from 'node:timers/promises';
import { errors, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { memo } from '../lib/memo.ts';
import { discoverKeysUrl } from './discovery.ts';
import { fetchJson } from './fetch-json.ts';
import type { Issuer } from './issuer.ts';
import { createKeyFinder } from './key-finder.ts';
import { type KeySet, keySet, logLeftOut } from './key-set.ts';

/** The shortest time between the starts of two fetches, in milliseconds. */
const MIN_INTERVAL_MS = 1000;

/** How long a fetch may take, discovery included, in milliseconds: an issuer that was down is used within 5 s. */
const TIMEOUT_MS = 4000;

/** The key of a token is not known and cannot be fetched. So it is not known whether the token is valid. */
export class KeysUnavailable extends Error {}

/** The keys of a key server, fetched in the background and for unknown keys. While it fails, the last keys remain in use. */
export class RemoteKeySet {
  readonly #issuer: string;
  readonly #url: URL | undefined;
  readonly #log: Logger;
  readonly #onChange: () => void;
  readonly #closed = new AbortController();
  #startedAt = Number.NEGATIVE_INFINITY;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  #lastFetch = 0;
  #lastFault: string | undefined;
  #fetching: Promise<void> | undefined;
  /** The keys that were fetched, as JSON. */
  #text: string | undefined;
  #finderOf = finderIn({ keys: [], leftOut: [] });

  /** Without a URL, it is found by discovery before each fetch. `onChange` is called when other keys are in use. */
  constructor(url: URL | undefined, issuer: string, log: Logger, onChange: () => void) {
    this.#url = url;
    this.#issuer = issuer;
    this.#log = log.child(url ? { address: url.origin + url.pathname } : { issuer });
    this.#onChange = onChange;
    void this.#keepFresh();
  }

  /** When the keys were last fetched, in seconds since 1970. 0 before the first time. */
  get lastFetch(): number {
    return this.#lastFetch;
  }

  /** How many seconds ago the keys were last fetched. Infinity before the first time. A wrong clock does not change it. */
  get ageS(): number {
    return (performance.now() - this.#fetchedAt) / 1000;
  }

  /** Returns what finds the key of a token of an issuer. It throws KeysUnavailable, or an error of jose. */
  finderOf(issuer: Issuer): JWTVerifyGetKey {
    return async (header, token) => {
      try {
        return await this.#finderOf(issuer)(header, token);
      } catch (error) {
        if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
        await this.#refresh();
        return this.#finderOf(issuer)(header, token);
      }
    };
  }

  close(): void {
    this.#closed.abort();
  }

  async #keepFresh(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      const failed = () => (this.#lastFetch > 0 ? 60_000 : MIN_INTERVAL_MS);
      const ms = await this.#refresh().then(() => 600_000, failed);
      await sleep(ms, undefined, { ref: false, signal }).catch(() => {});
    }
  }

  /**
   * Fetches the keys, once for all tokens that wait. Shortly after the last fetch has begun, this does not fetch, so that tokens
   * with invented key ids do not cause a flood of requests. Throws KeysUnavailable if the last fetch has failed.
   */
  async #refresh(): Promise<void> {
    if (performance.now() - this.#startedAt >= MIN_INTERVAL_MS) {
      this.#fetching ??= this.#fetchKeys().finally(() => {
        this.#fetching = undefined;
      });
    }
    await this.#fetching;
    if (this.#lastFault !== undefined) throw new KeysUnavailable();
  }

  async #fetchKeys(): Promise<void> {
    const log = this.#log;
    this.#startedAt = performance.now();
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const url = this.#url ?? (await discoverKeysUrl(this.#issuer, signal));
      this.#use(await fetchJson(url, keySet, signal));
      this.#lastFetch = Date.now() / 1000;
      this.#fetchedAt = performance.now();
      if (this.#lastFault !== undefined) log.info('keys fetched');
      this.#lastFault = undefined;
    } catch (error) {
      const fault = error instanceof Error ? error.message : 'unknown';
      const keysAvailable = this.#lastFetch > 0;
      if (fault !== this.#lastFault) log.warn({ fault, keysAvailable }, 'cannot fetch keys');
      this.#lastFault = fault;
    }
  }

  /** Uses fetched keys, if they differ from those in use. */
  #use(keys: KeySet): void {
    const text = JSON.stringify(keys);
    if (text === this.#text) return;
    logLeftOut(this.#log, keys);
    const isChanged = this.#text !== undefined;
    this.#text = text;
    this.#finderOf = finderIn(keys);
    if (isChanged) this.#onChange();
  }
}

const finderIn = (keys: KeySet) => memo((issuer: Issuer) => createKeyFinder(keys, issuer));
