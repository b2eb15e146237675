/** JSON whose large integers become bigints and back, because identifiers may be larger than a double can represent. */

/** Parts of JSON that Node has and TypeScript's library does not declare yet. */
const nodeJson = JSON as Omit<JSON, 'parse'> & {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
};

/** Parses JSON. An integer beyond 2^53 becomes a bigint. */
export function parseWithBigInt(text: string): unknown {
  return nodeJson.parse(text, (_key, value, { source = '' }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
      ? BigInt(source)
      : value,
  );
}

/** Writes JSON, indented by so many spaces. A bigint becomes an integer. */
export function stringifyWithBigInt(value: unknown, spaces = 0): string {
  const replace = (_key: string, entry: unknown) =>
    typeof entry === 'bigint' ? nodeJson.rawJSON(String(entry)) : entry;
  return JSON.stringify(value, replace, spaces);
}
