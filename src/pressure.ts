import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** Above these a sample counts as bad: the mean delay of the event loop, and the share of the heap. */
const MAX_DELAY_MS = 500;
const MAX_HEAP_SHARE = 0.85;
/** How often is looked, in milliseconds, and how many bad samples in a row are an overload. */
const SAMPLE_MS = 50;
const BAD_SAMPLES = 4;

/**
 * Watches whether the process itself has more to do than it can. One long answer is no overload, and
 * a second of refusals after a moment of pressure would leave it idle: so it takes a few bad samples
 * to begin, and one good one to end.
 */
export function watchPressure(): { isOverloaded: () => boolean; close(): void } {
  const resolution = 10;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  let bad = 0;
  const timer = setInterval(() => {
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    const delayMs = delay.mean / 1e6 - resolution;
    // No sample at all (NaN) is a loop that was blocked throughout.
    const good = delayMs <= MAX_DELAY_MS && used_heap_size <= heap_size_limit * MAX_HEAP_SHARE;
    bad = good ? 0 : bad + 1;
    delay.reset();
  }, SAMPLE_MS).unref();
  return {
    isOverloaded: () => bad >= BAD_SAMPLES,
    close() {
      clearInterval(timer);
      delay.disable();
    },
  };
}
