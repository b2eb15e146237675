import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** The part of the free memory that requests may hold. The rest is for keys, garbage, remembered documents and errors of estimates. */
const MEMORY_SHARE = 0.5;
/** The part of the free memory that a store in memory may take, and the most that it may, in bytes. */
const STORE_SHARE = 0.125;
const MAX_STORE_BYTES = 256 * 1024 * 1024;

/** The free memory when the process has started, in bytes: that of the heap, or of the container or machine if it is less. */
function freeMemory(): number {
  const { heap_size_limit, used_heap_size } = getHeapStatistics();
  // Zero, or more than there is, if nothing constrains the process.
  const memory = Math.min(process.constrainedMemory() || Infinity, totalmem());
  return Math.max(
    Math.min(heap_size_limit - used_heap_size, memory - process.memoryUsage.rss()),
    0,
  );
}

/** What requests may hold together, and what a store of idempotency keys in memory may. */
export function shareMemory(free = freeMemory()) {
  return { store: Math.min(free * STORE_SHARE, MAX_STORE_BYTES), requests: free * MEMORY_SHARE };
}
