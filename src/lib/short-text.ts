/** The length of a text in the short form, in characters. */
export const SHORT_TEXT = 10_000;

/** A text in its short form: its beginning and an ellipsis, or all of it if it is short. */
export function shorten(text: string, maxLength = SHORT_TEXT): string {
  if (text.length <= maxLength) return text;
  // Half of a character at the end would be invalid in Unicode, and some JSON parsers reject a whole response because of it.
  const start = text.slice(0, maxLength).replace(/[\ud800-\udbff]$/, '');
  // A copy, because V8 keeps a whole text in memory as long as a slice of it exists.
  return Buffer.from(`${start}…`, 'utf16le').toString('utf16le');
}

/** Shortens the texts of a value, also inside lists and objects. A long text ends with an ellipsis. */
export function shortForm(value: unknown, maxLength = SHORT_TEXT): unknown {
  if (typeof value === 'string') return shorten(value, maxLength);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => shortForm(item, maxLength));
  const entries = Object.entries(value);
  for (const entry of entries) entry[1] = shortForm(entry[1], maxLength);
  return Object.fromEntries(entries);
}

/** The memory that a value takes, in bytes. A character counts two, because a text that is not Latin-1 needs as many. */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length * 2;
  if (typeof value !== 'object' || value === null) return 8;
  let bytes = Array.isArray(value) ? 0 : 150; // About what an object takes besides its texts.
  for (const item of Object.values(value)) bytes += bytesOf(item);
  return bytes;
}

/** The beginning of a text that a client chose, for the log, with all characters but printable ASCII replaced. */
export function printable(text: string): string {
  return shorten(text, 100).replaceAll(/[^\x20-\x7e…]/g, '?');
}

/** Returns a value that can be held in memory: the given one, or its short form if there is no room for it. */
export function reserveOrShorten(
  value: unknown,
  reservation: { tryReserve(bytes: number): boolean },
): unknown {
  return reservation.tryReserve(bytesOf(value)) ? value : shortForm(value);
}
