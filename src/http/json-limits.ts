import { limitExceeded } from '../errors.ts';

/**
 * Values at all levels of a request body: 10,000 entity references with four fields each fit. Parsing and
 * checking more would block the event loop for too long.
 */
const MAX_VALUES = 60_000;
/** Lists and objects among them. graphql-js looks for every field of its type in an object, even in an empty one. */
const MAX_COMPOSITES = 12_000;
/** Levels of lists and objects in a request body, as in documents. */
const MAX_NESTING = 50;
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

/**
 * Limits the values and levels in JSON text before it is parsed. It yields between portions, so that the
 * caller can let the event loop continue. Throws `OPERATION_LIMIT_EXCEEDED`. Text that is not JSON passes,
 * because the parser rejects it.
 */
export function* checkJson(text: Buffer): Generator<void> {
  let values = 1;
  let composites = 0;
  let nesting = 0;
  let previous = 0;
  let next = PORTION;
  let isInString = false;
  for (let index = 0; index < text.length; index++) {
    if (index >= next) {
      yield;
      next = index + PORTION;
    }
    if (isInString) {
      index = text.indexOf(QUOTE, index);
      if (index === -1) return;
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
    if (nesting > MAX_NESTING) throw limitExceeded('levels of nesting', MAX_NESTING);
    if (composites > MAX_COMPOSITES) {
      throw limitExceeded('lists and objects in its variables', MAX_COMPOSITES);
    }
    if (values > MAX_VALUES) throw limitExceeded('values in its variables', MAX_VALUES);
  }
}

/** Whether the quote at `end` is part of the string. */
function isEscaped(text: Buffer, end: number): boolean {
  let backslashes = 0;
  while (text[end - 1 - backslashes] === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
