import { randomUUID } from 'node:crypto';

/** Parts of JSON that Node 24 has and TypeScript's library does not declare yet. */
declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
    /** A value that `JSON.stringify` writes as exactly this text. */
    rawJSON(text: string): object;
  }
}

/** The only property of a marked number. Random, so that a JSON text cannot forge it. */
const MARK = randomUUID();

/** A double keeps the value of every number with fewer characters and a shorter exponent (sign included). */
const LONG_NUMBER = 16;
const LONG_EXPONENT = 3;
/** Examining more long numbers would block the event loop for long. */
const MAX_LONG_NUMBERS = 20_000;
/** A longer one, in characters, is not examined either. It becomes another number that no double has. */
const MAX_NUMBER_LENGTH = 10_000;
const TOO_LONG = '1e99999';
/** The characters that are examined in one step. */
const PORTION = 262_144;

const QUOTE = 0x22;
const ZERO = 0x30;
const COMMA = 0x2c;
const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const LETTER_E = 0x65;

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const integer = /^-?\d+$/;

/**
 * Parses JSON. A number that a double would change, and an integer that it would not print as digits,
 * become objects, whose text `longNumber` returns. Throws a SyntaxError if the text is not JSON, and a
 * RangeError if it has more than 20,000 numbers of 16 characters or more.
 */
export function parseExactly(text: string): unknown {
  const steps = parseInSteps(text);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same, in steps that are short for a long text. */
export function* parseInSteps(text: string): Generator<void, unknown> {
  const marked = yield* markLongNumbers(text);
  yield;
  return JSON.parse(marked);
}

/** The text of a number that `parseExactly` did not convert to a double. Undefined for other values. */
export function longNumber(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, MARK)) return undefined;
  return String(Reflect.get(value, MARK));
}

/** Whether the shortest text of a double has the same value as the text of this number. */
export function isExact(text: string): boolean {
  const printed = String(Number(text));
  return printed === text || magnitude(printed) === magnitude(text);
}

const parts = /^-?(\d*)\.?(\d*)(?:[eE](.*))?$/;

/** The value of a number without its sign: the digits without zeros at the ends, and an exponent. */
function magnitude(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = parts.exec(text) ?? [];
  const digits = whole + fraction;
  // Not with a regular expression, which is quadratic for zeros in the middle.
  let start = 0;
  let end = digits.length;
  while (digits.charCodeAt(start) === ZERO) start += 1;
  while (end > start && digits.charCodeAt(end - 1) === ZERO) end -= 1;
  if (start === end) return '0';
  return `${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}

/**
 * Marks numbers in a JSON text. It works on the text because a reviver is called for every value, which
 * takes several times as long as parsing.
 */
function* markLongNumbers(text: string): Generator<void, string> {
  let marked = '';
  let from = 0;
  let longNumbers = 0;
  let next = PORTION;
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    if (at >= next) {
      yield;
      next = at + PORTION;
    }
    if (isInString) {
      at = text.indexOf('"', at);
      if (at === -1) break;
      isInString = isEscaped(text, at);
      continue;
    }
    const char = text.charCodeAt(at);
    if (char === QUOTE) isInString = true;
    else if (isInNumber(char)) {
      const start = at;
      at = endOfDigits(text, start);
      const mantissa = at;
      if ((text.charCodeAt(at) | 0x20) === LETTER_E) at = endOfDigits(text, at + 1);
      // Most numbers are short: they are not copied from the text.
      if (at - start >= LONG_NUMBER || at - mantissa > LONG_EXPONENT) {
        longNumbers += 1;
        if (longNumbers > MAX_LONG_NUMBERS) throw new RangeError('too many long numbers');
        const found = text.slice(start, at);
        if (mustMark(found)) {
          const kept = found.length > MAX_NUMBER_LENGTH ? TOO_LONG : found;
          marked += `${text.slice(from, start)}{"${MARK}":"${kept}"}`;
          from = at;
        }
      }
      at -= 1;
    }
  }
  return marked + text.slice(from);
}

/** What is not a number stays, so that parsing fails. */
function mustMark(found: string): boolean {
  if (!number.test(found)) return false;
  if (found.length > MAX_NUMBER_LENGTH) return true;
  return integer.test(found) ? String(Number(found)) !== found : !isExact(found);
}

/** A digit, a sign or a decimal point. */
function isInNumber(char: number): boolean {
  return char <= 0x39 && char >= 0x2b && char !== COMMA && char !== SLASH;
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  while (isInNumber(text.charCodeAt(end))) end += 1;
  return end;
}

/** Whether the quote at `end` is part of the string. */
function isEscaped(text: string, end: number): boolean {
  let backslashes = 0;
  while (text.charCodeAt(end - 1 - backslashes) === BACKSLASH) backslashes += 1;
  return backslashes % 2 === 1;
}
