/**
 * What a user decided to do, once: the idempotency key of every request that carries it out. It is a string,
 * so that it fits into a header and into the storage of a page, and contains when it was created.
 */
export type Intent = string;

/** Creates an intent. Call it when the user decides, such as in the listener of the click. */
export function newIntent(): Intent {
  const intent = [Date.now(), ...randomNumbers()].map((number) => number.toString(36)).join('-');
  unsent.add(intent);
  return intent;
}

/** Some engines have no `crypto`. A key only has to differ from the others of the same user. */
function randomNumbers(): Iterable<number> {
  const numbers = new Uint32Array(4);
  return (
    globalThis.crypto?.getRandomValues?.(numbers) ??
    numbers.map(() => 0x1_0000_0000 * Math.random())
  );
}

/** Adds an intent to the options of a request. To set the header `Idempotency-Key` has the same effect. */
export const withIntent = (init: RequestInit, intent: Intent): RequestInit =>
  withHeader(init, 'idempotency-key', intent);

export function withHeader(init: RequestInit, name: string, value: string): RequestInit {
  const headers = new Headers(init.headers);
  headers.set(name, value);
  return { ...init, headers };
}

/** The intents of this page that were not sent yet. */
const unsent = new Set<Intent>();

/** Whether a request is the first one with its intent. Only the first call for an intent may return true. */
export const isFirstRequest = (intent: Intent): boolean => unsent.delete(intent);

const format = /^([0-9a-z]{8,9})(-[0-9a-z]{1,7}){4}$/;

/** The largest age that the gateway accepts, in milliseconds. */
const LARGEST_AGE_MS = 31_536_000_000;

/**
 * How long ago the first request with an intent may have been sent, in milliseconds. Undefined for a key that
 * is not from `newIntent`. `delayMs` is the time that the request with this age may take to arrive: an age
 * that is too large is safe, and one that is too small is not.
 */
export function ageOf(intent: Intent, delayMs: number): number | undefined {
  const [, createdAt] = format.exec(intent) ?? [];
  if (createdAt === undefined) return undefined;
  const ageMs = Date.now() - Number.parseInt(createdAt, 36);
  // The clock of the device was set back.
  if (ageMs < 0) return LARGEST_AGE_MS;
  return Math.min(Math.round(ageMs + delayMs), LARGEST_AGE_MS);
}
