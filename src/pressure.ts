import { totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** Above these the process is pressed: the mean delay of its event loop, and the share of its memory. */
const MAX_DELAY_MS = 150;
const MAX_MEMORY_SHARE = 0.85;
/** How often is looked, in milliseconds. */
const SAMPLE_MS = 50;
/** So many samples in a row are late before it counts: one is a cold start, or a collection of garbage. */
const LATE_SAMPLES = 2;
/** How long a late event loop is remembered, in milliseconds: requests come in bursts, one after each delay. */
const LATE_MS = 500;
/** So many requests are executed whatever the event loop says: refusing all would leave it idle. */
const ALWAYS_EXECUTED = 64;

/**
 * Watches whether the process itself has more to do than it can: its event loop is late and many
 * requests are being executed, or its heap, or heap and buffers together, nearly fill what they may.
 */
export function watchPressure(): {
  /** Whether one more request is too many, beside those being executed. */
  isOverloaded: (executing: number) => boolean;
  close(): void;
} {
  const resolution = 10;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  // Zero, or beyond all memory, where nothing constrains the process.
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem());
  let lateSamples = 0;
  let lateUntil = 0;
  let isFull = false;
  const timer = setInterval(() => {
    const delayMs = delay.mean / 1e6 - resolution;
    // No sample at all (NaN) is a loop that was blocked throughout.
    lateSamples = delayMs <= MAX_DELAY_MS ? 0 : lateSamples + 1;
    if (lateSamples >= LATE_SAMPLES) lateUntil = performance.now() + LATE_MS;
    delay.reset();
    const { used_heap_size: used, heap_size_limit: limit, external_memory } = getHeapStatistics();
    isFull = used > limit * MAX_MEMORY_SHARE || used + external_memory > memory * MAX_MEMORY_SHARE;
  }, SAMPLE_MS).unref();
  return {
    isOverloaded: (executing) =>
      isFull || (executing >= ALWAYS_EXECUTED && performance.now() < lateUntil),
    close() {
      clearInterval(timer);
      delay.disable();
    },
  };
}
