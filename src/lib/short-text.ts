/** The length of a text in the short form, in characters. */
const SHORT_TEXT = 10_000;

/** A text in its short form: its beginning and an ellipsis, or all of it if it is short. */
export function shorten(text: string, maxLength = SHORT_TEXT): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`;
}

/** The beginning of a text that a client chose, for the log, with all characters but printable ASCII replaced. */
export function printable(text: string, maxLength = 100): string {
  return shorten(text, maxLength).replaceAll(/[^\x20-\x7e…]/g, '?');
}
