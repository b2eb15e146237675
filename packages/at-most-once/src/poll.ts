import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls a function again until it returns a result. The first delay is 25 ms, each further one is twice as long, up to half a
 * second, and the last call is at the deadline, or when `signal` is aborted. Resolves to null if there is no result by then.
 */
export async function pollAgain<Result>(
  attempt: () => Promise<Result | null>,
  deadline: number,
  signal?: AbortSignal,
): Promise<Result | null> {
  for (let delayMs = 25; ; delayMs = Math.min(delayMs * 2, 500)) {
    const leftMs = deadline - performance.now();
    if (signal?.aborted || leftMs <= 0) return null;
    await pause(Math.min(delayMs, leftMs), signal);
    const result = await attempt();
    if (result !== null) return result;
  }
}

/** Waits for a number of milliseconds, or until `signal` is aborted. Does not keep the process running. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { ref: false, signal }).catch(() => {});
}
