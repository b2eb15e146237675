import { SHORT_TEXT } from './short-text.ts';

const [QUOTE, BACKSLASH, LOWER_U] = [0x22, 0x5c, 0x75];
const ellipsis = Buffer.from('…');

/** Cuts long texts of a JSON document while it arrives, and ends them with an ellipsis. What is left is valid if the document is. */
export class JsonTextCutter {
  #isInText = false;
  /** The characters of the current text so far. */
  #length = 0;
  /** How many bytes of an escape sequence are still to come. -1 after its backslash. */
  #toCome = 0;

  /** Returns the next part of the document without what is cut. */
  cut(part: Uint8Array): Buffer {
    // An ellipsis takes the place of at least one byte.
    const room = Math.ceil(part.length / SHORT_TEXT) * ellipsis.length;
    const kept = Buffer.allocUnsafe(part.length + room);
    let end = 0;
    for (const byte of part) {
      const isCharacter = this.#next(byte);
      if (this.#length <= SHORT_TEXT) kept[end++] = byte;
      else if (isCharacter && this.#length === SHORT_TEXT + 1) end += ellipsis.copy(kept, end);
    }
    return kept.subarray(0, end);
  }

  /** Takes the next byte into account. Returns whether a character of a text, or an escape sequence, begins with it. */
  #next(byte: number): boolean {
    if (this.#toCome !== 0) {
      if (this.#toCome > 0) this.#toCome -= 1;
      else this.#toCome = byte === LOWER_U ? 4 : 0;
      return false;
    }
    if (byte === QUOTE) {
      this.#isInText = !this.#isInText;
      this.#length = 0;
      return false;
    }
    // The first byte of a character in UTF-8 is none of those that continue one.
    if (!this.#isInText || (byte & 0xc0) === 0x80) return false;
    if (byte === BACKSLASH) this.#toCome = -1;
    this.#length += 1;
    return true;
  }
}
