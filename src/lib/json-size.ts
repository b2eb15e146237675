import { setImmediate as immediate } from 'node:timers/promises';

/** The bytes that are examined between two iterations of the event loop. */
const PORTION = 524_288;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
/** With this bit set, `[` and `{` are the same, and so are `]` and `}`. */
const BRACE = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;
const SPACE = 0x20;

/** What a JSON text may contain: values on all levels, lists and objects among them, and levels of these. */
export type JsonLimits = { values: number; composites: number; nesting: number };

/**
 * Resolves to the first limit that a JSON text exceeds, if any. Examines a long text in portions, between
 * which the event loop continues. Text that is not JSON passes, because the parser rejects it.
 */
export async function findExceeded(
  text: Buffer,
  limits: JsonLimits,
): Promise<keyof JsonLimits | undefined> {
  let values = 1;
  let composites = 0;
  let nesting = 0;
  let previous = 0;
  let next = PORTION;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    if (index >= next) {
      await immediate();
      next = index + PORTION;
    }
    if (isInString) {
      index = text.indexOf(QUOTE, index);
      if (index === -1) return undefined;
      isInString = isEscaped(text, index);
      continue;
    }
    const byte = text[index] ?? 0;
    if (byte <= SPACE) continue;
    if (byte === QUOTE) isInString = true;
    else if (byte === COMMA) values += 1;
    else if ((byte | BRACE) === OPENING) {
      values += 1;
      composites += 1;
      nesting += 1;
    } else if ((byte | BRACE) === CLOSING) {
      nesting -= 1;
      // An empty list or object has no first value.
      if ((previous | BRACE) === OPENING) values -= 1;
    }
    previous = byte;
    if (nesting > limits.nesting) return 'nesting';
    if (composites > limits.composites) return 'composites';
    if (values > limits.values) return 'values';
  }
  return undefined;
}

/** Whether the quote at `end` is part of the string. */
function isEscaped(text: Buffer, end: number): boolean {
  let backslashes = 0;
  while (text[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
