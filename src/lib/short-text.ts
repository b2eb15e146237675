/** The length of a text in the short form, in characters. */
export const SHORT_TEXT = 10_000;

/** A text in its short form: its beginning and an ellipsis, or all of it if it is short. */
export function shorten(text: string, maxLength = SHORT_TEXT): string {
  if (text.length <= maxLength) return text;
  // A copy: V8 would keep all of the text as long as a slice of it.
  return Buffer.from(`${text.slice(0, maxLength)}…`, 'utf16le').toString('utf16le');
}

/** The same values with all texts in their short form, inside lists and objects too. */
export function withShortTexts(value: unknown, maxLength = SHORT_TEXT): unknown {
  if (typeof value === 'string') return shorten(value, maxLength);
  if (typeof value !== 'object' || value === null) return value;
  const inner = (item: unknown) => withShortTexts(item, maxLength);
  if (Array.isArray(value)) return value.map(inner);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inner(item)]));
}

/** The length of all texts in a value, inside lists and objects too. */
export function textLength(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + textLength(item), 0);
}

/** The beginning of a text that a client chose, for the log, with all characters but printable ASCII replaced. */
export function printable(text: string): string {
  return shorten(text, 100).replaceAll(/[^\x20-\x7e…]/g, '?');
}

/** Returns a value whose texts can be held in memory: the given one, or its short form if there is no room for it. */
export function holdTexts(value: unknown, holding: { tryHold(bytes: number): boolean }): unknown {
  // Two bytes a character: it may not be Latin-1.
  return holding.tryHold(textLength(value) * 2) ? value : withShortTexts(value);
}
