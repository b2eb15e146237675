import { createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import type { Logger } from 'pino';
import { pause } from '../lib/pause.ts';
import { fetchJson } from './fetch-json.ts';
import { type KeySet, keySet, logLeftOut, selecting } from './key-set.ts';

/** The shortest time between the starts of two fetches, in milliseconds. */
const MIN_INTERVAL_MS = 1000;

/** The key of a token is not known and cannot be fetched. So it is not known whether the token is valid. */
export class KeysUnavailable extends Error {}

/**
 * The keys of a key server. `locate` finds its URL before each fetch. Keys are fetched in the background, and when a token
 * needs a key that is not known. While the key server fails, the last keys remain in use. `onChange` is called when other keys
 * are in use.
 */
export function createRemoteKeySet(
  url: URL,
  locate: (signal: AbortSignal) => Promise<URL>,
  log: Logger,
  onChange: () => void,
) {
  const closed = new AbortController();
  let lastFetch = 0;
  let fetchedAt = Number.NEGATIVE_INFINITY;
  let startedAt = Number.NEGATIVE_INFINITY;
  let lastFault: string | undefined;
  let current: { text: string; get: JWTVerifyGetKey } | undefined;

  /**
   * Fetches the keys for jose. jose calls this once for all tokens that wait, and not within a second after a success. Shortly
   * after a failure, this fails without a fetch, so that tokens with invented key ids do not cause a flood of requests.
   */
  async function fetchKeys(signal: AbortSignal): Promise<Response> {
    const now = performance.now();
    if (now - startedAt < MIN_INTERVAL_MS) throw new KeysUnavailable();
    startedAt = now;
    try {
      const keys = await fetchJson(await locate(signal), keySet, signal);
      lastFetch = Date.now() / 1000;
      fetchedAt = performance.now();
      if (lastFault !== undefined) log.info('keys fetched');
      lastFault = undefined;
      return new Response(noteChange(keys));
    } catch (error) {
      const fault = error instanceof Error ? error.message : 'unknown';
      const keysAvailable = lastFetch > 0;
      if (fault !== lastFault) log.warn({ fault, keysAvailable }, 'cannot fetch keys');
      lastFault = fault;
      throw new KeysUnavailable();
    }
  }

  /** Notes whether fetched keys differ from those in use. Returns them as JSON. */
  function noteChange(keys: KeySet): string {
    const text = JSON.stringify(keys);
    if (text === current?.text) return text;
    logLeftOut(log, keys);
    // jose uses the keys once it has read the response, and then the reload that waits for them ends, too.
    // The first keys replace none.
    if (current) void remote.reload().then(onChange, onChange);
    current = { text, get: selecting(remote, keys) };
    return text;
  }

  const remote = createRemoteJWKSet(url, {
    cacheMaxAge: Infinity,
    cooldownDuration: MIN_INTERVAL_MS,
    timeoutDuration: 4000, // Discovery included: an issuer that was down is used within 5 s.
    [customFetch]: (_, { signal }) => fetchKeys(signal),
  });

  async function keepFresh(): Promise<void> {
    while (!closed.signal.aborted) {
      const failed = () => (lastFetch > 0 ? 60_000 : MIN_INTERVAL_MS);
      await pause(await remote.reload().then(() => 600_000, failed), closed.signal);
    }
  }
  void keepFresh();

  const get: JWTVerifyGetKey = async (header, token) => {
    if (!current) await remote.reload();
    return (current?.get ?? remote)(header, token);
  };

  return {
    /** The key for a token. Throws KeysUnavailable, or an error of jose. */
    get,
    /** When the keys were last fetched, in seconds since 1970. 0 before the first time. */
    lastFetch: () => lastFetch,
    /** How many seconds ago the keys were last fetched. Infinity before the first time. A wrong clock does not change it. */
    ageS: () => (performance.now() - fetchedAt) / 1000,
    close: () => closed.abort(),
  };
}
