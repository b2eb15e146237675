import { randomUUID } from 'node:crypto';

declare global {
  interface JSON {
    /** A value that `JSON.stringify` writes as exactly this text. TypeScript's library does not declare it yet. */
    rawJSON(text: string): object;
  }
}

/** What a JSON text may contain: values on all levels, lists and objects among them, and levels of these. */
export type JsonLimits = { values: number; composites: number; nesting: number };

/** A JSON text exceeds one of its limits. */
export class JsonLimitExceeded extends Error {
  override readonly name = 'JsonLimitExceeded';
  readonly limit: keyof JsonLimits;

  constructor(limit: keyof JsonLimits) {
    super(`too many ${limit}`);
    this.limit = limit;
  }
}

/** The only property of a marked number, and of a list that is parsed in parts. Random, so that no text forges it. */
const NUMBER = randomUUID();
const LIST = randomUUID();

/** A double keeps the value of every number with fewer characters and a shorter exponent (sign included). */
const LONG_NUMBER = 16;
const LONG_EXPONENT = 3;
/** Examining more long numbers would block the event loop for long. */
const MAX_LONG_NUMBERS = 20_000;
/** A longer one, in characters, is not examined either. It becomes another number that no double has. */
const MAX_NUMBER_LENGTH = 10_000;
const TOO_LONG = '1e99999';

/** The characters, and the values, that are examined or parsed in one step: a few milliseconds. */
const PORTION = 262_144;
const PORTION_VALUES = 10_000;
/** More values that cannot be parsed in parts would take longer than 50 ms, if they have different names. */
const MAX_PORTION_VALUES = 50_000;
/** The level of the lists that are parsed in parts: those in the properties of an object. */
const LIST_LEVEL = 2;

const QUOTE = 0x22;
const ZERO = 0x30;
const COMMA = 0x2c;
const SLASH = 0x2f;
const BACKSLASH = 0x5c;
const LETTER_E = 0x65;
const SPACE = 0x20;
const OPENING_BRACKET = 0x5b;
const CLOSING_BRACKET = 0x5d;
/** With this bit set, `[` and `{` are the same, and so are `]` and `}`. */
const BRACE = 0x20;
const OPENING = 0x7b;
const CLOSING = 0x7d;

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const integer = /^-?\d+$/;

/**
 * Parses JSON. A number that a double would change, and an integer that it would not print as digits, become
 * objects, whose text `longNumber` returns. Throws a SyntaxError if the text is not JSON, a JsonLimitExceeded,
 * and a RangeError if it has more than 20,000 numbers of 16 characters or more.
 */
export function parseJson(text: string, limits: JsonLimits): unknown {
  const steps = parseInSteps(text, limits);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** The same, in steps of a few milliseconds, or as long as it takes to parse the longest string. */
export function* parseInSteps(text: string, limits: JsonLimits): Generator<void, unknown> {
  const parts = new Parts(text);
  let [values, composites, nesting, previous] = [1, 0, 0, 0];
  let [nextStep, valuesBefore] = [PORTION, 1];
  let isInString = false;
  for (let at = 0; at < text.length; at++) {
    if (at >= nextStep) {
      yield;
      nextStep = at + PORTION;
    }
    if (isInString) {
      at = text.indexOf('"', at);
      if (at === -1) break;
      isInString = isEscaped(text, at);
      continue;
    }
    const char = text.charCodeAt(at);
    if (char <= SPACE) continue;
    if (char === QUOTE) isInString = true;
    else if (isInNumber(char)) at = parts.addNumber(at) - 1;
    else if (char === COMMA) {
      values += 1;
      if (nesting === LIST_LEVEL && parts.isLong(at, values - valuesBefore)) {
        parts.cut(at);
        valuesBefore = values;
        yield;
      }
    } else if ((char | BRACE) === OPENING) {
      values += 1;
      composites += 1;
      nesting += 1;
      if (nesting === LIST_LEVEL && char === OPENING_BRACKET) parts.openList(at);
    } else if ((char | BRACE) === CLOSING) {
      if (nesting === LIST_LEVEL) parts.closeList(at, char);
      nesting -= 1;
      // An empty list or object has no first value.
      if ((previous | BRACE) === OPENING) values -= 1;
    }
    previous = char;
    if (nesting > limits.nesting) throw new JsonLimitExceeded('nesting');
    if (composites > limits.composites) throw new JsonLimitExceeded('composites');
    if (values > limits.values || values - valuesBefore > MAX_PORTION_VALUES) {
      throw new JsonLimitExceeded('values');
    }
  }
  yield;
  return parts.parse();
}

/** The text of a number that `parseJson` did not convert to a double. Undefined for other values. */
export function longNumber(value: unknown): string | undefined {
  const text = propertyOf(value, NUMBER);
  return text === undefined ? undefined : String(text);
}

const inspected = new RegExp(`\\{ ${NUMBER}: "(.*?)" \\}`, 'g');

/** A text that shows a parsed value, with its long numbers as they were written. */
export function withLongNumbers(message: string): string {
  return message.replaceAll(inspected, '$1');
}

/** Whether the shortest text of a double has the same value as the text of this number. */
export function isExact(text: string): boolean {
  const printed = String(Number(text));
  return printed === text || magnitude(printed) === magnitude(text);
}

/**
 * A text that is parsed in parts. A long number is replaced by an object with its text: a reviver would be called
 * for every value, which takes several times as long as parsing. Of a long list, some items are parsed at a time.
 */
class Parts {
  readonly #text: string;
  /** The text since the last cut, as it is parsed; what follows `from` is not copied yet. */
  #copied = '';
  #from = 0;
  /** What precedes the list that is being examined, and its items so far. */
  #list: { preceding: string; items: unknown[] } | undefined;
  readonly #lists: unknown[][] = [];
  #longNumbers = 0;

  constructor(text: string) {
    this.#text = text;
  }

  /** Marks the number at `start` if a double would change it, and returns its end. */
  addNumber(start: number): number {
    const text = this.#text;
    const mantissa = endOfDigits(text, start);
    const hasExponent = (text.charCodeAt(mantissa) | 0x20) === LETTER_E;
    const end = hasExponent ? endOfDigits(text, mantissa + 1) : mantissa;
    // Most numbers are short: they are not copied from the text.
    if (end - start < LONG_NUMBER && end - mantissa <= LONG_EXPONENT) return end;
    this.#longNumbers += 1;
    if (this.#longNumbers > MAX_LONG_NUMBERS) throw new RangeError('too many long numbers');
    const found = text.slice(start, end);
    if (!mustMark(found)) return end;
    const kept = found.length > MAX_NUMBER_LENGTH ? TOO_LONG : found;
    this.#copied += `${text.slice(this.#from, start)}{"${NUMBER}":"${kept}"}`;
    this.#from = end;
    return end;
  }

  openList(at: number): void {
    this.#list = { preceding: this.#take(at), items: [] };
    this.#from = at + 1;
  }

  /** Whether the items since the last cut are enough to parse. */
  isLong(at: number, values: number): boolean {
    return this.#list !== undefined && (at - this.#from > PORTION || values > PORTION_VALUES);
  }

  /** Parses the items up to the comma at `at`. */
  cut(at: number): void {
    const items: unknown = JSON.parse(`[${this.#take(at)}]`);
    this.#from = at + 1;
    // A list without its items is JSON, but a comma without them is not.
    if (!Array.isArray(items) || items.length === 0) throw new SyntaxError('no item');
    for (const item of items) this.#list?.items.push(item);
  }

  closeList(at: number, char: number): void {
    const list = this.#list;
    if (!list) return;
    this.#list = undefined;
    if (list.items.length === 0) {
      this.#copied = `${list.preceding}[${this.#take(at)}`;
      return;
    }
    if (char !== CLOSING_BRACKET) throw new SyntaxError('not the end of a list');
    this.#list = list;
    this.cut(at);
    this.#list = undefined;
    this.#copied = `${list.preceding}{"${LIST}":${this.#lists.push(list.items) - 1}}`;
  }

  /** Parses the rest. */
  parse(): unknown {
    const value: unknown = JSON.parse(this.#take(this.#text.length));
    if (this.#lists.length === 0 || typeof value !== 'object' || value === null) return value;
    for (const [key, item] of Object.entries(value)) {
      const index = propertyOf(item, LIST);
      if (typeof index === 'number') Reflect.set(value, key, this.#lists[index]);
    }
    return value;
  }

  /** The text up to `at`, which is removed. */
  #take(at: number): string {
    const taken = this.#copied + this.#text.slice(this.#from, at);
    this.#copied = '';
    this.#from = at;
    return taken;
  }
}

function propertyOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return Reflect.get(value, name);
}

const numberParts = /^-?(\d*)\.?(\d*)(?:[eE](.*))?$/;

/** The value of a number without its sign: the digits without zeros at the ends, and an exponent. */
function magnitude(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = numberParts.exec(text) ?? [];
  const digits = whole + fraction;
  // Not with a regular expression, which is quadratic for zeros in the middle.
  let start = 0;
  let end = digits.length;
  while (digits.charCodeAt(start) === ZERO) start += 1;
  while (end > start && digits.charCodeAt(end - 1) === ZERO) end -= 1;
  if (start === end) return '0';
  return `${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
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
