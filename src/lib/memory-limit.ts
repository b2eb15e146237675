import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** The limit of the heap, in bytes. It does not change, and reading it takes too long for every request. */
export const HEAP_LIMIT = getHeapStatistics().heap_size_limit;

/** The memory that the process may use, in bytes: that of its container, or of the machine. */
const MEMORY_LIMIT = Math.min(
  // Zero, or more than there is, if nothing constrains the process.
  process.constrainedMemory() || Number.POSITIVE_INFINITY,
  totalmem(),
);

/** Whether the used heap, and heap and buffers together, with so many bytes more, are below a share of their limits. */
function isBelow(share: number, bytes = 0): boolean {
  const { used_heap_size, external_memory } = getHeapStatistics();
  const used = used_heap_size + bytes;
  return used <= HEAP_LIMIT * share && used + external_memory <= MEMORY_LIMIT * share;
}

/** The share of the memory that large work may fill, so that small requests still have some. */
const LARGE_WORK_SHARE = 0.6;

/** Whether there is memory for large work that takes so many bytes. */
export function hasRoom(bytes: number): boolean {
  return isBelow(LARGE_WORK_SHARE, bytes);
}
