/** The memory that a part of a body takes besides its bytes, even if it is a single byte. */
export const PART_BYTES = 200;

/** The bytes of all parts, which are freed. A single one is not copied. */
export function joinParts(parts: readonly Buffer[]): Buffer {
  const [first] = parts;
  if (first && parts.length === 1) return first;
  const all = Buffer.concat(parts);
  freeParts(parts);
  return all;
}

/**
 * Frees the memory of parts at once. As garbage, that of a few responses was four times as much as is ever booked. Not that
 * of the latest part: the parser may not have read all of its buffer.
 */
export function freeParts(parts: readonly Buffer[]): void {
  const latest = parts.at(-1)?.buffer;
  for (const { buffer, length } of parts) {
    // One that is a part of its buffer may be in the pool of Node, which cannot be freed.
    const isOwn = buffer instanceof ArrayBuffer && buffer.byteLength === length;
    if (isOwn && buffer !== latest && !buffer.detached) buffer.transfer(0);
  }
}

/** Parts shorter than this, in bytes, are tiny: each costs as much time as a long one. */
const TINY = 64;
/** The tiny parts that may follow one another. */
const MAX_IN_A_ROW = 1000;

/** Recognizes a body that comes in many tiny parts. A longer one makes up for those before it, not for later ones. */
export class TinyParts {
  #credit = MAX_IN_A_ROW;

  /** Counts the next part of the body. Returns whether there are too many. */
  isTooMany(bytes: number): boolean {
    this.#credit = Math.min(this.#credit + bytes / TINY - 1, MAX_IN_A_ROW);
    return this.#credit < 0;
  }
}
