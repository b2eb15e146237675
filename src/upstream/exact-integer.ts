import { z } from 'zod';
import { longNumber } from '../lib/json.ts';

/*
 * The integers of records. A record says with these types which of its members are integers, and from that follows which
 * numbers of a response are parsed without a double.
 */

/** The digits of a parsed number, whatever its length. Undefined for other values. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : longNumber(value);
}

/**
 * An integer of any size: a number in JSON, its digits as text in the code. No real one has more than 1,000, and each may
 * be selected hundreds of times.
 */
export const exactInteger = z.codec(
  z.custom<number | object>((value) => textOf(value) !== undefined || JSON.isRawJSON(value)),
  z.string().regex(/^-?\d{1,1000}$/),
  { decode: (value) => textOf(value) ?? '', encode: (digits) => JSON.rawJSON(digits) },
);

export const isInt32 = (value: unknown): value is number =>
  typeof value === 'number' && (value | 0) === value;

/** An integer of 32 bits, as the type `Int` of GraphQL. */
export const int32 = z.custom<number>(isInt32);

/** A number that a double may change, or no integer but one to a double (`1e-400`). */
const UNUSUAL = String.raw`-?(?:[\d.]{16}|[\d.]+[eE])`;

/** What precedes the first item of a list. */
const LIST = '\\[';

/**
 * A pattern that finds each integer of a response that a double may change. By the names of members, because examining
 * every number takes a quarter of the time of parsing a list; a name may be written with an escape. A list of integers is
 * always found. Throws a TypeError that names a member whose numbers would be changed without notice.
 */
export function unusualIntegers(record: z.ZodType): RegExp {
  const starts = new Set<string>();
  collect(record, '', [], starts);
  return new RegExp(['\\\\u', ...starts].join('|'));
}

/** Adds a pattern for each integer of a record. `start` is the pattern of what precedes it. */
function collect(type: z.core.$ZodType, start: string, path: string[], found: Set<string>): void {
  const each = (inner: z.core.$ZodType) => collect(inner, start, path, found);
  if (type === exactInteger || type === int32) {
    found.add(start === LIST ? LIST : `${start}${UNUSUAL}`);
  } else if (type instanceof z.ZodObject) {
    for (const [name, member] of Object.entries(type.def.shape)) {
      collect(member, `"${RegExp.escape(name)}"\\s*:\\s*`, [...path, name], found);
    }
  } else if (type instanceof z.ZodArray) {
    collect(type.def.element, LIST, [...path, '[]'], found);
  } else if (type instanceof z.ZodUnion) {
    for (const option of type.def.options) each(option);
  } else if (
    type instanceof z.ZodNullable ||
    type instanceof z.ZodOptional ||
    type instanceof z.ZodCatch
  ) {
    each(type.def.innerType);
  } else if (type instanceof z.ZodPipe && !(type instanceof z.ZodCodec)) {
    each(type.def.in);
  } else if (!(type instanceof z.ZodString || type instanceof z.ZodBoolean)) {
    const hint = 'is not exact in a record: use exactInteger or int32 for an integer';
    throw new TypeError(`${path.join('.') || 'The record'}: z.${type._zod.def.type}() ${hint}`);
  }
}
