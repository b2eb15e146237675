/** What Node 24 knows of JSON and TypeScript's library does not yet: source text, both ways. */
declare global {
  interface JSON {
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source?: string }) => unknown,
    ): unknown;
    /** A value that `JSON.stringify` writes as the very text given. */
    rawJSON(text: string): object;
  }
}

/**
 * JSON text as a value. An integer that would come out of a double as another one comes as the
 * string of its digits, in the fields that `holds` names. Throws a SyntaxError where the text is no
 * JSON.
 *
 * `mayHold` says whether there can be such an integer: it has 16 digits or more. The reviver costs
 * several times the parsing, so only a text that may need it pays for it.
 */
export function parseExactly(
  text: string,
  mayHold: RegExp,
  holds: (field: string) => boolean,
): unknown {
  if (!mayHold.test(text)) return JSON.parse(text);
  return JSON.parse(text, (field, value, { source }) =>
    holds(field) &&
    Number.isInteger(value) &&
    !Number.isSafeInteger(value) &&
    String(value) !== source
      ? source
      : value,
  );
}
