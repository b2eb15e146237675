import { closest } from 'fastest-levenshtein';
import { z } from 'zod';

/** What is wrong with a text that a person has written. The message quotes nothing of it but keys. */
export class TextFault extends Error {}

/**
 * Parses a JSON text that a person has written. Throws a TextFault that says what it must be, and what is wrong with it: it is
 * not UTF-8 or not JSON, it has a key that would be lost, or values are not of this type. An unknown key is probably a
 * misspelling of one of these.
 */
export function parseStrictJson<Value>(
  json: string,
  what: string,
  type: z.ZodType<Value>,
  keys: readonly string[],
): Value {
  const faultOf = (...faults: string[]) => new TextFault(`must be ${what}: ${faults.join('; ')}`);
  // Node replaces bytes that are not UTF-8 by U+FFFD.
  if (json.includes('\ufffd')) throw faultOf('is not UTF-8');
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    const [, place = ''] = /( \(line \d+ column \d+\))$/.exec(String(error)) ?? [];
    throw faultOf(`is not JSON${place}`);
  }
  const key = ambiguousKey(json);
  if (key !== undefined) throw faultOf(`has the key ${key}`);
  const { success, data, error } = type.safeParse(value);
  if (success) return data;
  throw faultOf(...error.issues.flatMap((issue) => faultsOf(issue, keys)));
}

function faultsOf(issue: z.core.$ZodIssue, keys: readonly string[]): string[] {
  const at = (path: PropertyKey[], message: string) =>
    path.length === 0 ? message : `${z.core.toDotPath(path)}: ${message}`;
  if (issue.code !== 'unrecognized_keys') return [at(issue.path, issue.message)];
  return issue.keys.map((key) => {
    const path = [...issue.path, key];
    if (keys.includes(key)) return at(path, 'is a key of another object');
    const meant = keys.find((name) => name.startsWith(key)) ?? closest(key, keys);
    return at(path, `is unknown. Did you mean ${meant}?`);
  });
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
