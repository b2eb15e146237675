import { totalmem } from 'node:os';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/** The mean event-loop delay and the share of memory above which the process is overloaded. */
const MAX_DELAY_MS = 150;
const MAX_MEMORY_SHARE = 0.85;
const SAMPLE_MS = 50;
/** Consecutive delayed samples that count as overload: a single one is a cold start or a garbage collection. */
const DELAYED_SAMPLES = 2;
/** How long a delay counts, in milliseconds: requests arrive in bursts, one after each delay. */
const DELAY_MEMORY_MS = 500;
/** Requests that are always admitted: rejecting all of them would leave the event loop idle. */
const ALWAYS_ADMITTED = 64;

export type LoadShedding = {
  /** Whether to reject one more request, with so many being executed. */
  isOverloaded(executing: number): boolean;
  close(): void;
};

/**
 * Detects that the process is overloaded: its event loop is delayed while many requests are being
 * executed, or its heap or its heap and buffers together are nearly full.
 */
export function createLoadShedding(): LoadShedding {
  const resolution = 10;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  // Zero, or more than there is, if nothing constrains the process.
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem());
  let delayedSamples = 0;
  let delayedUntil = 0;
  let isMemoryFull = false;
  const timer = setInterval(() => {
    const delayMs = delay.mean / 1e6 - resolution;
    // NaN means no sample at all: the event loop was blocked throughout.
    delayedSamples = delayMs <= MAX_DELAY_MS ? 0 : delayedSamples + 1;
    if (delayedSamples >= DELAYED_SAMPLES) delayedUntil = performance.now() + DELAY_MEMORY_MS;
    delay.reset();
    const { used_heap_size: used, heap_size_limit: limit, external_memory } = getHeapStatistics();
    isMemoryFull =
      used > limit * MAX_MEMORY_SHARE || used + external_memory > memory * MAX_MEMORY_SHARE;
  }, SAMPLE_MS).unref();
  return {
    isOverloaded: (executing) =>
      isMemoryFull || (executing >= ALWAYS_ADMITTED && performance.now() < delayedUntil),
    close() {
      clearInterval(timer);
      delay.disable();
    },
  };
}
