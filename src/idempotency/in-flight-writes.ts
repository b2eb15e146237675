import { setTimeout as sleep } from 'node:timers/promises';
import { UpstreamError } from '../upstream/upstream-error.ts';
import type { Claim } from './store.ts';

export type InFlightWrite = { key: string; fingerprint: string; outcome: Promise<unknown> };

/** The keyed writes that this instance is sending, for repeats to join. */
export class InFlightWrites {
  /** An array, since a Map would keep removed entries from being collected early (docs/decisions/0011). */
  readonly #writes: InFlightWrite[] = [];

  find(key: string): InFlightWrite | undefined {
    return this.#writes.find((write) => write.key === key);
  }

  /** Keeps a write until its outcome is settled, and returns the outcome. */
  async track<Outcome>({ key, fingerprint }: Claim, outcome: Promise<Outcome>): Promise<Outcome> {
    const write = { key, fingerprint, outcome };
    this.#writes.push(write);
    try {
      return await outcome;
    } finally {
      this.#writes.splice(this.#writes.indexOf(write), 1);
    }
  }
}

/**
 * The outcome of a write in flight: `timeout` at the deadline or when `signal` is aborted, null if the
 * write had no effect.
 */
export async function waitFor(
  { outcome }: InFlightWrite,
  deadline: number,
  signal: AbortSignal,
): Promise<unknown> {
  const timer = new AbortController();
  const settled = outcome.catch((error: unknown) => {
    if (error instanceof UpstreamError) return null;
    throw error;
  });
  const timeout = pause(deadline - performance.now(), AbortSignal.any([timer.signal, signal]));
  try {
    return await Promise.race([settled, timeout.then(() => 'timeout')]);
  } finally {
    timer.abort();
  }
}

/** Waits so many milliseconds, or until `signal` is aborted. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { signal }).catch(() => {});
}
