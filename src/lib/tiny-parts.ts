/** The memory that a part of a body takes besides its bytes, even if it is a single byte. */
export const PART_BYTES = 200;

/** A part with fewer bytes is tiny: each costs as much time as a long one. So many may follow one another. */
const TINY_BYTES = 64;
const MAX_IN_A_ROW = 1000;

/**
 * Recognizes a body that arrives in many tiny parts. A longer part makes up for tiny ones before it, not for later ones.
 * Without this, responses in chunks of one byte end the process (docs/decisions/0025).
 */
export class TinyParts {
  #credit = MAX_IN_A_ROW;

  /** Counts the next part of the body. Returns whether there are too many. */
  isTooMany(bytes: number): boolean {
    this.#credit = Math.min(this.#credit + bytes / TINY_BYTES - 1, MAX_IN_A_ROW);
    return this.#credit < 0;
  }
}
