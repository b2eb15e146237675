/** What Node 24 knows of JSON and TypeScript's library does not yet. */
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

/** Whether a double holds an integer of these digits as it is. */
export function isExact(digits: string): boolean {
  return String(Number(digits)) === digits;
}

/** An integer that a double may not hold has 16 digits or more, and stands outside quotes. */
const mayHoldLargeInteger = /[:,[\s]-?\d{16}/;

/**
 * JSON text as a value. An integer that would come out of a double as another one comes as the
 * string of its digits. Throws a SyntaxError where the text is no JSON.
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(mayHoldLargeInteger.test(text) ? quoteLargeIntegers(text) : text);
}

/**
 * Puts quotes around the integers that a double would change. In the text, because a reviver is
 * called for every value: sixteen megabytes of small ones would hold the event loop for long.
 */
function quoteLargeIntegers(text: string): string {
  const token = /"|-?[1-9]\d{15,}/g;
  const name = /\s*:/y;
  let quoted = '';
  let from = 0;
  for (let match = token.exec(text); match; match = token.exec(text)) {
    const [found] = match;
    if (found === '"') {
      token.lastIndex = endOfString(text, match.index);
      continue;
    }
    const end = match.index + found.length;
    // Digits of a fraction or an exponent are no integer.
    const stands =
      !/[\d.eE+-]/.test(text.charAt(match.index - 1)) && !/[.eE]/.test(text.charAt(end));
    // Where a name should be they are no JSON, and must not become it.
    name.lastIndex = end;
    if (!stands || isExact(found) || name.test(text)) continue;
    quoted += `${text.slice(from, match.index)}"${found}"`;
    from = end;
  }
  return quoted + text.slice(from);
}

/** Where the string that opens at `open` is over. */
function endOfString(text: string, open: number): number {
  for (
    let close = text.indexOf('"', open + 1);
    close !== -1;
    close = text.indexOf('"', close + 1)
  ) {
    let backslashes = 0;
    while (text.charAt(close - 1 - backslashes) === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return close + 1;
  }
  return text.length;
}
