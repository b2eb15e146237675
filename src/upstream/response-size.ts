import { findExceeded } from '../lib/json-size.ts';
import { hasRoom } from '../lib/memory-limit.ts';
import { invalidResponse, noRoom } from './upstream-error.ts';

/** A smaller response, in bytes, cannot have so many values that they use up the memory. */
const SMALL_BYTES = 1_048_576;
/** A list of 16 MB of typical codes has 250,000. An empty one takes 50 times its text in memory. */
const limits = { values: 2_000_000, composites: 300_000, nesting: 1000 };

/** Throws an UpstreamError if a response has too many values to be parsed. */
export async function checkSize({ buffer, byteOffset, length }: Uint8Array): Promise<void> {
  if (length <= SMALL_BYTES) return;
  const exceeded = await findExceeded(Buffer.from(buffer, byteOffset, length), limits);
  if (exceeded) throw invalidResponse(`more ${exceeded} than the ${limits[exceeded]} allowed`);
}

/** The memory for a list while it is read, in multiples of its text. A shorter text, in bytes, needs little. */
const MEMORY_PER_BYTE = 8;
const LARGE_BYTES = 65_536;

/** Throws an UpstreamError if there is no memory for so many bytes of a response to a read. */
export function checkRoom(bytes: number): void {
  if (bytes <= LARGE_BYTES || hasRoom(bytes * MEMORY_PER_BYTE)) return;
  throw noRoom(`no memory for ${bytes} bytes`);
}
