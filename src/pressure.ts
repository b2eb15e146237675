import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** Above these the process is pressed: the mean delay of its event loop, and the share of its heap. */
const MAX_DELAY_MS = 150;
const MAX_HEAP_SHARE = 0.85;
/** How often is looked, in milliseconds. */
const SAMPLE_MS = 50;
/** So many requests are executed whatever the event loop says: refusing all would leave it idle. */
const ALWAYS_EXECUTED = 64;

/**
 * Watches whether the process itself has more to do than it can: its event loop is late and many
 * requests are being executed, or its heap is nearly full.
 */
export function watchPressure(): {
  /** Whether one more request is too many, beside those being executed. */
  isOverloaded: (executing: number) => boolean;
  close(): void;
} {
  const resolution = 10;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  let isLate = false;
  let isFull = false;
  const timer = setInterval(() => {
    const delayMs = delay.mean / 1e6 - resolution;
    // No sample at all (NaN) is a loop that was blocked throughout.
    isLate = !(delayMs <= MAX_DELAY_MS);
    delay.reset();
    const { used_heap_size, heap_size_limit } = getHeapStatistics();
    isFull = used_heap_size > heap_size_limit * MAX_HEAP_SHARE;
  }, SAMPLE_MS).unref();
  return {
    isOverloaded: (executing) => isFull || (isLate && executing >= ALWAYS_EXECUTED),
    close() {
      clearInterval(timer);
      delay.disable();
    },
  };
}
