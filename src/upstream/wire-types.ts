import Type, { type Static, type TOptional, type TSchema, type TUnsafe } from 'typebox';
import { Compile } from 'typebox/schema';
import { longNumber } from '../lib/json.ts';

/*
 * The types of the service's JSON. Each is both a JSON Schema and a TypeScript type. The check of a response is compiled from
 * it, a request is encoded by it, and `npm run openapi` prints it. A field is required unless it is `optional`.
 */

/** A record of the service, by the names of its fields. Fields that are not declared are ignored. */
export const record = Type.Object;
/** A list. */
export const list = Type.Array;
/** A text. A date is a text, too: the gateway passes it on as the service writes it. */
export const text = Type.String();
export const flag = Type.Boolean();
/** A number that is exact as a double. */
export const double = Type.Number();
/** An integer of 32 bits, as the type `Int` of GraphQL. */
export const int32 = Type.Integer({ minimum: -2_147_483_648, maximum: 2_147_483_647 });

/** An integer of one of these ranges, which include both ends. */
export const integerIn = (...ranges: readonly (readonly [first: number, last: number])[]) =>
  Type.Integer({ anyOf: ranges.map(([minimum, maximum]) => ({ minimum, maximum })) });

/** A record with at most one field, whose name is not documented. */
export const unnamed = <T extends TSchema>(field: T): TUnsafe<Record<string, Static<T>>> =>
  Type.Unsafe({ type: 'object', additionalProperties: field, maxProperties: 1 });

/** Any value. The code that reads it interprets it. `documented` is its type in the OpenAPI description. */
export const lenient = (documented: string): TUnsafe<unknown> => Type.Unsafe({ documented });

/** The parts of JSON Schema that the types above use, and our own additions. */
export type WireType = TSchema & {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, WireType>>;
  readonly required?: readonly string[] | undefined;
  readonly additionalProperties?: WireType;
  readonly items?: WireType;
  readonly pattern?: string;
  /** Marks an integer on the wire that is a text with its digits in the code. */
  readonly exact?: true;
  /** Marks what identifies something, see `identifiers.ts`. */
  readonly identifies?: true;
  /** The type in the OpenAPI description, if it differs from what is checked. */
  readonly documented?: string | readonly string[];
};

/** Integers of JSON with at most 1,000 digits. A longer one would need much memory: a response may have it hundreds of times. */
const pattern = '^-?(0|[1-9]\\d{0,999})$';
const exact = { type: 'string', pattern, exact: true, documented: 'integer' } as const;

/** An integer of any size. It is a number in JSON, and a text in the code, because a double would change a large integer. */
export const exactInteger = Type.Unsafe<string>(exact);
/** An `exactInteger` that identifies something. The audit record shows it, so it must not be the number of an account. */
export const identifier = Type.Unsafe<string>({ ...exact, identifies: true });

/** A field that may be missing or null. */
export function optional<T extends TSchema>(
  type: T,
): TOptional<TUnsafe<Static<T> | null | undefined>> {
  const { type: checked, documented }: WireType = type;
  return Type.Optional(
    Type.Unsafe<Static<T> | null | undefined>({
      ...type,
      ...(checked && { type: [checked, 'null'].flat() }),
      ...(checked && documented && { documented: [documented, 'null'].flat() }),
    }),
  );
}

/** Creates a function that checks whether a value is of this type. */
export function guardOf<T extends TSchema>(type: T): (value: unknown) => value is Static<T> {
  const validator = Compile(type);
  return validator.Check.bind(validator);
}

/** A value of this type as it is written as JSON, with the fields in the order of their declaration. An undefined field is left out. */
export function toWire({ exact, items, properties }: WireType, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (exact) return JSON.rawJSON(String(value));
  if (items && Array.isArray(value)) return value.map((item) => toWire(items, item));
  if (!properties) return value;
  const fields = Object.entries(properties);
  return Object.fromEntries(
    fields.map(([name, field]) => [name, toWire(field, Reflect.get(Object(value), name))]),
  );
}

/** The JSON type of a parsed value. */
export function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return longNumber(value) === undefined ? typeof value : 'number';
}
