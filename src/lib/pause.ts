import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for a number of milliseconds, or until `signal` is aborted. Does not keep the process running. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(Math.max(0, ms), undefined, { ref: false, signal }).catch(() => {});
}
