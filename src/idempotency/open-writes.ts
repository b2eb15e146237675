import { setTimeout as sleep } from 'node:timers/promises';
import { Shares } from '../account/shares.ts';
import { remove } from '../lib/remove.ts';
import { WaitGroup } from '../lib/wait-group.ts';
import type { OutcomeUnknown } from '../upstream/upstream-error.ts';
import type { KnownOutcome } from './recorded-outcome.ts';
import type { StoreLog } from './store.ts';

/** The delays between two attempts of `poll`, in milliseconds: the first, which doubles, and the longest. */
const FIRST_DELAY_MS = 25;
const POLL_MS = 500;
const RETRY_MS = 2000;
/** Bounds the memory of updates during a long outage. */
const MAX_BYTES = 32 * 1024 * 1024;
/** What an update takes besides its data. */
const UPDATE_BYTES = 1024;

export type OpenWrite = {
  key: string;
  responseName: string;
  fingerprint: string;
  /** Undefined while the write is in flight. */
  outcome?: KnownOutcome | OutcomeUnknown;
  /** Resolved when there is an outcome, or the write had no effect. */
  ended: PromiseWithResolvers<void>;
};

/**
 * The keyed writes of this process that are in flight, or whose outcome the store does not have yet: repeats get it
 * from here. Updates of the store are repeated in the background until they succeed.
 */
export class OpenWrites {
  /** An array, since a Map would keep removed entries from being collected early (docs/decisions/0011). */
  readonly #writes: OpenWrite[] = [];
  readonly #log: StoreLog;
  readonly #closing = new AbortController();
  readonly #updates = new WaitGroup();
  /** The memory of the updates that are repeated, by caller. */
  readonly #repeated = new Shares(MAX_BYTES);
  readonly #closeMs: number;

  /** @param closeMs how long updates are still repeated when the process ends, in milliseconds */
  constructor(log: StoreLog, closeMs: number) {
    this.#log = log;
    this.#closeMs = closeMs;
  }

  ofKey(key: string): OpenWrite[] {
    return this.#writes.filter((write) => write.key === key);
  }

  /** Those of a key that are in flight, when they end. */
  endsOf(key: string): Promise<void>[] {
    return this.ofKey(key).flatMap(({ outcome, ended }) => (outcome ? [] : ended.promise));
  }

  add(write: OpenWrite): void {
    this.#writes.push(write);
  }

  remove(write: OpenWrite): void {
    remove(this.#writes, write);
    write.ended.resolve();
  }

  /**
   * Updates the store for a caller, with data of so many bytes. Resolves after the first attempt, and calls `onEnd`
   * when the update has succeeded or was given up.
   */
  async update(
    caller: string,
    work: () => Promise<void>,
    dataBytes: number,
    onEnd: () => void,
  ): Promise<void> {
    const done = () => true as const;
    const attempt = () => work().then(done, () => null); // The log says why it fails.
    const first = attempt();
    const rest = async () =>
      (await first) ?? (await this.#repeat(caller, attempt, UPDATE_BYTES + dataBytes));
    // The first attempt counts as well: closing waits for it.
    const ended = this.#updates.track(rest().finally(onEnd));
    await Promise.race([first, ended]);
  }

  /** Waits for the updates that are repeated, for `closeMs`. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#updates.idle();
  }

  async #repeat(caller: string, attempt: () => Promise<true | null>, bytes: number): Promise<void> {
    const deadline = this.#repeated.fits(caller, bytes) ? Infinity : 0;
    const { signal } = this.#closing;
    this.#repeated.take(caller, bytes);
    let isDone = await poll(attempt, deadline, signal, () => [], RETRY_MS);
    if (signal.aborted) {
      isDone ??= await poll(
        attempt,
        performance.now() + this.#closeMs,
        new AbortController().signal,
      );
    }
    this.#repeated.give(caller, bytes);
    if (isDone) return;
    const message = 'An idempotency key could not be updated in its store and will be orphaned';
    this.#log.error({}, message);
  }
}

/**
 * Tries until there is a result, also when one of `ends` resolves, for the last time at the deadline. Null then, or when
 * `signal` is aborted.
 */
export async function poll<Result>(
  attempt: () => Promise<Result | null>,
  deadline: number,
  signal: AbortSignal,
  ends: () => Promise<void>[] = () => [],
  maxDelayMs = POLL_MS,
): Promise<Result | null> {
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(delayMs * 2, maxDelayMs)) {
    const result = await attempt();
    const leftMs = deadline - performance.now();
    if (result !== null || signal.aborted || leftMs <= 0) return result;
    await Promise.race([pause(Math.min(delayMs, leftMs), signal), ...ends()]);
  }
}

/** Waits so many milliseconds, or until `signal` is aborted. Does not keep the process running. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { ref: false, signal }).catch(() => {});
}
