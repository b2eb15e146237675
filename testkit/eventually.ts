import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';

/** Repeats an attempt with a pause until it succeeds, and throws its last error after half a minute. */
export async function eventually<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + 30_000;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
    await sleep(20);
  }
}

/** Waits for a condition, which is checked on each iteration of the event loop, and throws after half a minute. */
export async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 30_000;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`Never true: ${condition}`);
    await immediate();
  }
}
