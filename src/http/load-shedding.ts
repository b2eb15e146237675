import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { isBelow } from '../lib/memory-limit.ts';
import { AdmissionQueue } from './admission-queue.ts';

/** The share of the memory above which every request is rejected. */
const MAX_MEMORY_SHARE = 0.85;
const SAMPLE_MS = 50;

export type LoadShedding = {
  /** Whether to reject one more request. */
  isOverloaded(): boolean;
  /** Calls `start` now, or, while the event loop is late, when it is the request's turn. */
  enter: AdmissionQueue['enter'];
  /** A request that was started has ended. */
  leave(): void;
  close(): void;
};

/**
 * Observes the event loop and the memory. While the event loop is late, requests wait for their turn. They
 * are rejected if they would wait too long, or if the heap or the heap and buffers together are nearly full.
 */
export function createLoadShedding(): LoadShedding {
  const queue = new AdmissionQueue();
  const resolution = 10;
  const delay = monitorEventLoopDelay({ resolution });
  delay.enable();
  let isMemoryFull = false;
  let sampledAt = performance.now();
  let utilization = performance.eventLoopUtilization();
  const timer = setInterval(() => {
    const now = performance.now();
    const current = performance.eventLoopUtilization();
    queue.sample({
      delayMs: delay.mean / 1e6 - resolution,
      utilization: performance.eventLoopUtilization(current, utilization).utilization,
      elapsedMs: now - sampledAt,
    });
    sampledAt = now;
    utilization = current;
    delay.reset();
    isMemoryFull = !isBelow(MAX_MEMORY_SHARE);
  }, SAMPLE_MS).unref();
  return {
    isOverloaded: () => isMemoryFull || queue.isFull,
    enter: (start) => queue.enter(start),
    leave: () => queue.leave(),
    close() {
      clearInterval(timer);
      delay.disable();
    },
  };
}
