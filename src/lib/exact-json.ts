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

/** Whether a double represents the integer with these digits exactly. */
export function isExact(digits: string): boolean {
  return String(Number(digits)) === digits;
}

/** An integer that a double cannot represent has at least 16 digits and stands outside quotes. */
const mayHoldLargeInteger = /[:,[\s]-?\d{16}/;

/**
 * Parses JSON. An integer that a double cannot represent becomes the string of its digits. Throws a
 * SyntaxError if the text is not JSON.
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(mayHoldLargeInteger.test(text) ? quoteLargeIntegers(text) : text);
}

/**
 * Quotes the integers that a double would change. It works on the text because a reviver is called for
 * every value, which blocks the event loop for long if there are many.
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
    // Skip the digits of a fraction or an exponent.
    const stands =
      !/[\d.eE+-]/.test(text.charAt(match.index - 1)) && !/[.eE]/.test(text.charAt(end));
    // A number in the place of a property name is invalid JSON, and must stay invalid.
    name.lastIndex = end;
    if (!stands || isExact(found) || name.test(text)) continue;
    quoted += `${text.slice(from, match.index)}"${found}"`;
    from = end;
  }
  return quoted + text.slice(from);
}

/** The index after the string that opens at `open`. */
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
