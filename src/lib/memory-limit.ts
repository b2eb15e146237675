import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/** The limit of the heap, in bytes. It does not change, and reading it takes too long for every request. */
export const HEAP_LIMIT = getHeapStatistics().heap_size_limit;

/** The memory that the process may use, in bytes: that of its container, or of the machine. */
export const MEMORY_LIMIT = Math.min(
  // Zero, or more than there is, if nothing constrains the process.
  process.constrainedMemory() || Number.POSITIVE_INFINITY,
  totalmem(),
);
