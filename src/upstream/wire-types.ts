import Type, { type Static, type TOptional, type TSchema, type TUnsafe } from 'typebox';
import { Check, Compile } from 'typebox/schema';
import { core } from 'zod';
import { longNumber, numberText } from '../lib/json.ts';

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
  /** What values of this type name, see `targets.ts`. */
  readonly target?: TargetKind;
  /** The type in the OpenAPI description, if it differs from what is checked. */
  readonly documented?: string | readonly string[];
};

/** Only values of these types are shown in the audit record. */
type TargetKind = 'identifier' | 'fileName' | 'fileContent';

/** Integers of JSON with at most 1,000 digits. A longer one would need much memory: a response may have it hundreds of times. */
const exactPattern = /^-?(0|[1-9]\d{0,999})$/;

function exact(isOptional = false, target?: TargetKind): TUnsafe<string> {
  const check = (value: unknown) => {
    if (Number.isSafeInteger(value) || (value === null && isOptional)) return true;
    return exactPattern.test(numberText(value) ?? '');
  };
  const error = () => 'integer';
  const documented = isOptional ? ['integer', 'null'] : 'integer';
  const own = { exact: true, documented, ...(target && { target }) };
  return Type.Unsafe<string>({ ...own, '~refine': [{ check, error }] });
}

/** An integer of any size. It is a number in JSON, and a text in the code, because a double would change a large integer. */
export const exactInteger = exact();
/** An `exactInteger` that identifies something. The audit record shows it, so it must not be the number of an account. */
export const identifier = exact(false, 'identifier');
/** The name of a file. The audit record shows it. */
export const fileName = Type.String({ target: 'fileName' });
/** The content of a file, in base64. The audit record shows its length and a hash of it. */
export const fileContent = Type.String({ target: 'fileContent' });

/** A field that may be missing or null. */
export function optional<T extends TSchema>(
  type: T,
): TOptional<TUnsafe<Static<T> | null | undefined>> {
  const wire: WireType = type;
  const nullable = wire.exact
    ? exact(true, wire.target)
    : { ...type, ...(wire.type !== undefined && { type: [wire.type, 'null'].flat() }) };
  return Type.Optional(Type.Unsafe<Static<T> | null | undefined>(nullable));
}

/** A response differs from its declaration. The message has paths and types, never values. */
export class ContractFault extends Error {
  /** A message for clients, if there is more to say than that the response is invalid. */
  readonly shown: string | undefined;
  /** The path of the value, if a value differs from its type. */
  readonly at: readonly PropertyKey[];

  constructor(message: string, shown?: string, at: readonly PropertyKey[] = []) {
    super(message);
    this.shown = shown;
    this.at = at;
  }
}

/** Reads a parsed JSON value at a path of a response. Throws a ContractFault. */
type Reader<T extends TSchema> = (value: unknown, ...at: PropertyKey[]) => Static<T>;

/** Creates a function that checks values of this type, which must have no exact integers. */
export function readerOf<T extends TSchema>(type: T): Reader<T> {
  const validator = Compile(type);
  return (value, ...at) => {
    if (!validator.Check(value)) throw faultIn(type, value, at);
    return value;
  };
}

/** Creates a function that checks whether a value is of this type. The value has texts in place of exact numbers. */
export function guardOf<T extends TSchema>(type: T): (value: unknown) => value is Static<T> {
  const validator = Compile(inCode(type));
  return (value): value is Static<T> => validator.Check(value);
}

/** The same type, with texts in place of exact numbers. */
function inCode(type: WireType): WireType {
  const { properties, items, exact } = type;
  if (exact) {
    const isNullable = [type.documented].flat().includes('null');
    return { type: isNullable ? ['string', 'null'] : 'string', pattern: exactPattern.source };
  }
  return {
    ...type,
    ...(items && { items: inCode(items) }),
    ...(properties && { properties: mapValues(properties, inCode) }),
  };
}

/**
 * Creates a function that writes a value of this type as JSON, with the fields in the order of their declaration. An
 * undefined field is left out. The function throws a TypeError for a value of another type, which must not be sent.
 */
export function encoderOf<T extends TSchema>(type: T): (value: Static<T>) => string {
  const checked = inCode(type);
  const validator = Compile(checked);
  return (value) => {
    if (!validator.Check(value)) throw new TypeError(faultIn(checked, value, []).message);
    return JSON.stringify(toWire(type, value));
  };
}

function toWire({ exact, items, properties }: WireType, value: unknown): unknown {
  if (value === null || value === undefined) return value;
  if (exact) return JSON.rawJSON(String(value));
  if (items && Array.isArray(value)) return value.map((item) => toWire(items, item));
  if (!properties) return value;
  return mapValues(properties, (field, name) => toWire(field, Reflect.get(Object(value), name)));
}

function mapValues<Value, Result>(
  values: Readonly<Record<string, Value>>,
  change: (value: Value, name: string) => Result,
): Record<string, Result> {
  const entries = Object.entries(values).map(([name, value]) => [name, change(value, name)]);
  return Object.fromEntries(entries) as Record<string, Result>;
}

/** Describes the first fault of a value: its path, the declared type, and the type of the value there. */
function faultIn(type: WireType, value: unknown, at: readonly PropertyKey[]): ContractFault {
  const { items, properties = {}, required = [] } = type;
  if (items && Array.isArray(value)) {
    const item = Compile(items); // Items are checked one by one, because a list may be long.
    const index = value.findIndex((one) => !item.Check(one));
    return faultIn(items, value[index], [...at, index]);
  }
  if (typeOf(value) === 'object') {
    for (const [name, field] of Object.entries(properties)) {
      const inner: unknown = Reflect.get(Object(value), name);
      const isAllowed = inner === undefined && !required.includes(name);
      if (!isAllowed && !Check(field, inner)) return faultIn(field, inner, [...at, name]);
    }
  }
  const [expected] = [type.documented ?? type.type].flat();
  const where = at.length > 0 ? `${core.toDotPath(at)}: ` : '';
  return new ContractFault(`${where}expected ${expected}, got ${typeOf(value)}`, undefined, at);
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return longNumber(value) === undefined ? typeof value : 'number';
}
