declare global {
  interface JSON {
    /** A value that `JSON.stringify` writes as exactly this text. TypeScript's library does not declare it yet. */
    rawJSON(text: string): object;
  }
}

/** The most that a JSON text may contain: values on all levels, lists and objects among these values, and levels of nesting. */
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

/** The name of the only property of the object that stands for a long number. It is random, so that no text can forge it. */
const NUMBER = crypto.randomUUID().slice(19);

/**
 * How many characters all long numbers of a text may have together. A number with fewer than 20 characters counts as 20,
 * because each number may become an object. A list of 8 MB with one such number in each item must fit.
 */
const MAX_LONG_CHARACTERS = 6_000_000;
/** A number with more characters is not examined. It is replaced by `TOO_LONG`, which no double equals either. */
const MAX_NUMBER_LENGTH = 10_000;
const TOO_LONG = '1e99999';

/** How many significant digits JavaScript prints of a double at most. */
const MAX_DIGITS = 17;

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const integer = /^-?\d+$/;
/** Matches a number that a double may change, or would make an integer (`1e-400`), and texts that look like such a number. */
export const unusualNumber = /[:[,]\s*-?(?:[\d.]{16}|[\d.]+[eE])/;

/**
 * Parses JSON without changing numbers. A number becomes an object if a double would change its value, or if it is an
 * integer that is not safe in a double. `longNumber` returns the text of such an object. With `keepsDigits`, the same is done
 * for a number that JavaScript would print with other digits, such as 10.50.
 *
 * Throws a SyntaxError if the text is not JSON. Throws a JsonLimitExceeded if it exceeds `limits`, or if its numbers of 16
 * characters or more have more than 6,000,000 characters together.
 */
export function parseJson(text: string, limits: JsonLimits, keepsDigits = false): unknown {
  const found: JsonLimits = { values: 1, composites: 0, nesting: 0 };
  // What replaces the text up to `copied`: `marked`, followed by `parts`.
  let [marked, copied, longCharacters] = ['', 0, 0];
  let previous = '';
  const parts: string[] = [];
  /** Visits the number that begins at an index, and returns where it ends. Puts an object in its place if it must be kept. */
  const endOfNumber = (start: number) => {
    const mantissa = endOfDigits(text, start);
    const hasExponent = text[mantissa] === 'e' || text[mantissa] === 'E';
    const end = hasExponent ? endOfDigits(text, mantissa + 1) : mantissa;
    // A double keeps the value of a number with fewer characters and a shorter exponent. Most numbers are like that, and are
    // not copied from the text.
    const isLong = end - start >= 16 || end - mantissa > 3;
    const kept = (isLong || keepsDigits) && textToKeep(text.slice(start, end), keepsDigits);
    if (isLong || kept) longCharacters += Math.max(end - start, 20);
    if (longCharacters > MAX_LONG_CHARACTERS) throw new JsonLimitExceeded('values');
    if (!kept) return end;
    // A reviver, which is called for every value, would take five times as long.
    parts.push(text.slice(copied, start), '{"', NUMBER, '":"', kept, '"}');
    copied = end;
    // V8 does not copy a text that is added to another one until the whole text is read, and would keep each part until then.
    if (parts.length > 5000) marked += parts.splice(0).join('');
    return end;
  };
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at);
    if (char <= ' ') continue;
    if (char === '"') at = endOfString(text, at);
    else if (isInNumber(char)) at = endOfNumber(at) - 1;
    else count(found, char, previous, limits);
    previous = char;
  }
  return JSON.parse(copied > 0 ? marked + parts.join('') + text.slice(copied) : text);
}

/** Counts what a character begins or ends, which is outside of strings and numbers. Throws a JsonLimitExceeded. */
function count(found: JsonLimits, char: string, previous: string, limits: JsonLimits): void {
  if (char === ',') found.values += 1;
  else if (char === '[' || char === '{') {
    found.values += 1;
    found.composites += 1;
    found.nesting += 1;
  } else if (char === ']' || char === '}') {
    found.nesting -= 1;
    // An empty list or object has no first value.
    if (previous === '[' || previous === '{') found.values -= 1;
  }
  if (found.nesting > limits.nesting) throw new JsonLimitExceeded('nesting');
  if (found.composites > limits.composites) throw new JsonLimitExceeded('composites');
  if (found.values > limits.values) throw new JsonLimitExceeded('values');
}

/** The text of a number that `parseJson` kept as an object. Undefined for all other values. */
export function longNumber(value: unknown): string | undefined {
  const isNumber = typeof value === 'object' && value !== null && Object.hasOwn(value, NUMBER);
  return isNumber ? String(Reflect.get(value, NUMBER)) : undefined;
}

/** The text of a number that was parsed: its digits if `parseJson` kept it. Undefined for all other values. */
export function numberText(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : longNumber(value);
}

/** The JSON of a value that `parseJson` returned, with its long numbers as they were written, indented by so many spaces. */
export function writeJson(value: unknown, spaces = 0): string {
  const replace = (_: string, part: unknown) => {
    const digits = longNumber(part);
    return digits === undefined ? part : JSON.rawJSON(digits);
  };
  return JSON.stringify(value, replace, spaces);
}

const inspected = new RegExp(`\\{ ${NUMBER}: "(.*?)" \\}`, 'g');

/** Prints a value that `parseJson` returned, with its long numbers as they were written. */
export function withLongNumbers(message: string): string {
  return message.replaceAll(inspected, '$1');
}

/** Writes a value as JSON, with U+FFFD for a lone surrogate, because some JSON parsers reject a whole text that has one. */
export function toJson(value: unknown): string {
  const json = JSON.stringify(value);
  if (!json.includes('\\ud')) return json;
  // `JSON.stringify` escapes no other surrogates. A backslash of the value itself is doubled.
  return json.replace(/(?<!\\)((?:\\\\)*)\\ud[89a-f]../g, '$1\ufffd');
}

/** Escapes characters of a JSON text, which may stand only in its strings. */
export function escapeJson(json: string, characters: RegExp): string {
  const escapeOf = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return json.replace(characters, escapeOf);
}

/** Whether the shortest text of a double, which is what JavaScript prints, has the same value as the text of this number. */
export function isExact(text: string): boolean {
  const value = toExponential(text);
  return value !== undefined && Math.abs(Number(text)).toExponential() === value;
}

/** Matches what `JSON.stringify` escapes, and all surrogates. With the flag `u`, matching would take three times as long. */
const escaped = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** The length of a value without cycles as JSON, in bytes of UTF-8. */
export function jsonLength(value: unknown): number {
  if (typeof value === 'string') {
    const isPlain = !escaped.test(value);
    return isPlain ? Buffer.byteLength(value) + 2 : Buffer.byteLength(JSON.stringify(value));
  }
  if (typeof value !== 'object' || value === null) return String(value).length;
  let length = 1; // A comma takes the place of the closing bracket, but for the last item.
  if (Array.isArray(value)) for (const item of value) length += jsonLength(item) + 1;
  else {
    for (const [name, item] of Object.entries(value)) {
      if (item !== undefined) length += jsonLength(name) + jsonLength(item) + 2;
    }
  }
  return length === 1 ? 2 : length;
}

/**
 * The value of a number without its sign, in the notation of JavaScript's `toExponential`. Undefined if it has more
 * digits than that prints. It visits each character a few times at most, because a body may have 16 MB of digits.
 */
function toExponential(text: string): string | undefined {
  const [mantissa = '', power = '0'] = text.split(/e/i);
  const first = mantissa.search(/[1-9]/);
  if (first < 0) return '0e+0';
  let last = mantissa.length - 1;
  while (mantissa[last] === '0' || mantissa[last] === '.') last -= 1;
  const digits = mantissa.slice(first, last + 1).replace('.', '');
  if (digits.length > MAX_DIGITS) return undefined;
  const point = mantissa.indexOf('.');
  const whole = point < 0 ? mantissa.length : point;
  const exponent = whole - first - (whole > first ? 1 : 0) + Number(power);
  const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
  return `${digits.charAt(0)}${fraction}e${exponent < 0 ? '' : '+'}${exponent}`;
}

/** The text of a number that must be kept. Undefined if a double is exact enough, or if it is no number, so that parsing fails. */
function textToKeep(found: string, keepsDigits: boolean): string | undefined {
  if (!number.test(found)) return undefined;
  if (found.length > MAX_NUMBER_LENGTH) return TOO_LONG;
  if (keepsDigits) return String(Number(found)) === found ? undefined : found;
  const fits = integer.test(found) ? Number.isSafeInteger(Number(found)) : isExact(found);
  return fits ? undefined : found;
}

/** A digit, a sign or a decimal point. */
function isInNumber(char: string): boolean {
  return (char >= '0' && char <= '9') || char === '-' || char === '.' || char === '+';
}

function endOfDigits(text: string, start: number): number {
  let end = start;
  while (isInNumber(text.charAt(end))) end += 1;
  return end;
}

/** The index where a string ends: at its closing quote, or at the end of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text[first - 1] === '\\') first -= 1;
    if ((end - first) % 2 === 0) return end;
  }
  return text.length;
}
