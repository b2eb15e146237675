import { Check } from 'typebox/schema';
import { numberText } from '../src/lib/json.ts';
import { readStatus, serviceStatus } from '../src/upstream/responses.ts';
import { typeOf, type WireType } from '../src/upstream/wire-types.ts';

/** What a body has that its declaration does not know, and what the declaration has that the body does not show. */
export type Differences = {
  /** Such as `list[].Hide: expected integer or null, got string`, with the number of places. It never has a value of a text. */
  readonly unknown: ReadonlyMap<string, number>;
  /** The paths of declared fields that no record had. */
  readonly unseen: readonly string[];
  /** The number of records of each path, such as `list[]`. */
  readonly records: ReadonlyMap<string, number>;
};

/** Compares a parsed body with its declared type: every record, and every field of it. */
export function differencesOf(type: WireType, body: unknown): Differences {
  const unknown = new Map<string, number>();
  const records = new Map<string, number>();
  const declared = new Set<string>();
  const seen = new Set<string>();
  const count = (counts: Map<string, number>, key: string) =>
    counts.set(key, (counts.get(key) ?? 0) + 1);

  function compare(here: WireType, value: unknown, path: string): void {
    const { properties, items } = here;
    if (here === serviceStatus.properties.status) compareStatus(value, path);
    else if (properties && isRecord(value)) compareRecord(properties, here, value, path);
    else if (items && Array.isArray(value)) {
      for (const item of value) compare(items, item, `${path}[]`);
    } else if (!isOf(here, value)) {
      count(unknown, `${path || 'body'}: expected ${expected(here)}, got ${typeOf(value)}`);
    }
  }

  function compareRecord(
    properties: Readonly<Record<string, WireType>>,
    { required = [] }: WireType,
    record: Record<string, unknown>,
    path: string,
  ): void {
    count(records, path || 'body');
    const at = (name: string) => (path === '' ? name : `${path}.${name}`);
    for (const [name, type] of Object.entries(properties)) {
      declared.add(at(name));
      const value = record[name];
      if (value !== undefined) seen.add(at(name));
      if (value !== undefined) compare(type, value, at(name));
      else if (required.includes(name)) count(unknown, `${at(name)}: is missing`);
    }
    for (const [name, value] of Object.entries(record)) {
      if (Object.hasOwn(properties, name)) continue;
      count(unknown, `${at(name)}: not declared, ${typeOf(value)}`);
    }
  }

  /** The declaration accepts any status. */
  function compareStatus(value: unknown, path: string): void {
    const isInteger = Number.isSafeInteger(value);
    if (isInteger && isDocumented(value)) return;
    const found = isInteger ? String(value) : typeOf(value);
    count(unknown, `${path}: expected a documented status, got ${found}`);
  }

  compare(type, body, '');
  return { unknown, records, unseen: [...declared].filter((path) => !seen.has(path)) };
}

/** Whether a value is of a type. An exact integer is a number on the wire, and its digits in the declaration. */
const isOf = (type: WireType, value: unknown) =>
  Check(type, type.exact && value !== null ? numberText(value) : value);

/** Whether a status is documented, as a number or as its label. */
export function isDocumented(status: unknown): boolean {
  const read = readStatus({ status }).status;
  return read !== null && read >= 0 && read <= 3;
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeOf(value) === 'object';

const expected = ({ documented, type }: WireType) => [documented ?? type].flat().join(' or ');
