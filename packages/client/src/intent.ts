/**
 * One decision of a user, as a string: the idempotency key of every request that carries it out. It contains the time of
 * its creation, and fits into a header and into the storage of a page.
 */
export type Intent = string;

/** Reports that a request waits, is sent again, or is being settled. */
export type Progress = {
  readonly intent: Intent;
  /** The number of requests so far. */
  readonly attempt: number;
  readonly state: 'not-sent' | 'in-progress' | 'lost' | 'offline' | 'settling';
  /** The code of the error, if there is one. */
  readonly code?: string | undefined;
};

/** Adds an intent to the options of a request. Setting the header `Idempotency-Key` has the same effect. */
export const withIntent = (init: RequestInit, intent: Intent): RequestInit =>
  withHeaders(init, { 'idempotency-key': intent });

/** An object with the headers of a request or a response. */
export type Headed = { readonly headers?: RequestInit['headers'] | undefined };

/** Sets headers of a request or response, except for those that are undefined. */
export function withHeaders<Init extends Headed>(
  init: Init,
  changes: Record<string, string | number | undefined>,
): Init & { headers: Headers } {
  const headers = new Headers(init.headers);
  for (const [name, value] of Object.entries(changes)) {
    if (value !== undefined) headers.set(name, `${value}`);
  }
  return { ...init, headers };
}

/** The largest difference so far between the clock of the device and the monotonic one, in milliseconds. */
let aheadMs = Date.now() - performance.now();

/**
 * The time of the device, in milliseconds since 1970. While a page is open, this time never goes back, and runs at least
 * as fast as the monotonic clock. In some browsers, that clock stops while the device sleeps.
 */
export function now(): number {
  aheadMs = Math.max(aheadMs, Date.now() - performance.now());
  return aheadMs + performance.now();
}

/** The largest age that the gateway accepts, in milliseconds. */
const LARGEST_AGE_MS = 31_536_000_000;

/** Whether a text has the shape of an intent from `newIntent`. */
export const isIntent = (text: string): boolean => /^[a-z\d]{8,9}(-[a-z\d]{1,7}){4}$/.test(text);

/**
 * How long ago the first request with an intent may have been sent, in milliseconds. Undefined for a key that is not from
 * `newIntent`. The age includes `delayMs`, the time that the request may take to arrive, because an age that is too large is
 * safe, and one that is too small is not.
 */
export function ageOf(intent: Intent, delayMs: number): number | undefined {
  if (!isIntent(intent)) return undefined;
  // `parseInt` stops at the hyphen.
  const ageMs = now() - Number.parseInt(intent, 36);
  // The clock of the device was set back before the page was loaded again, so the age is not known.
  return ageMs < 0 ? LARGEST_AGE_MS : Math.min(Math.round(ageMs + delayMs), LARGEST_AGE_MS);
}
