/**
 * Parses a JSON text that a person has written. Returns its value, or what is wrong with the text: it is not UTF-8 or not
 * JSON, or it has a key that would be lost. A fault quotes nothing but such a key.
 */
export function parseStrictJson(json: string): { value: unknown } | { faults: [string] } {
  // Node replaces bytes that are not UTF-8 by U+FFFD.
  if (json.includes('\ufffd')) return { faults: ['is not UTF-8'] };
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    const [, place = ''] = /( \(line \d+ column \d+\))$/.exec(String(error)) ?? [];
    return { faults: [`is not JSON${place}`] };
  }
  const key = ambiguousKey(json);
  return key === undefined ? { value } : { faults: [`has the key ${key}`] };
}

/** The first key of a JSON text that an object has twice, or that would be lost. JSON.parse keeps the last one silently. */
function ambiguousKey(json: string): string | undefined {
  const open: Set<string>[] = [];
  for (const [token, string, colon] of json.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (string !== undefined && colon !== undefined) {
      const key = String(JSON.parse(string));
      if (key === '__proto__') return string;
      if (open.at(-1)?.has(key)) return `${string} twice`;
      open.at(-1)?.add(key);
    }
  }
  return undefined;
}
