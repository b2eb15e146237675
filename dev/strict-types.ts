import type { TSchema } from 'typebox';
import { Compile } from 'typebox/schema';
import type { WireType } from '../src/upstream/wire-types.ts';

/**
 * The same type without fields that are not declared, for values of `parseWithBigInt`: an integer is a safe one or a
 * bigint, and a decimal is any number.
 */
function strict(type: WireType): object {
  const { properties, items, exact, documented } = type;
  if (exact) {
    const integer = { type: 'integer', minimum: -(2 ** 53) + 1, maximum: 2 ** 53 - 1 };
    const number = exact === 'integer' ? integer : { type: 'number' };
    const isNullable = [documented].flat().includes('null');
    return { anyOf: [number, { type: isNullable ? ['bigint', 'null'] : 'bigint' }] };
  }
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, strict(field)]);
  return {
    ...type,
    ...(items && { items: strict(items) }),
    ...(properties && { properties: Object.fromEntries(fields), additionalProperties: false }),
  };
}

/** Creates a function that checks the body of a request. Null if the operation has none. */
export function bodyCheck(type: TSchema | null): (body: unknown) => boolean {
  const validator = type && Compile(strict(type));
  return (body) => validator?.Check(body) ?? true;
}

/** Creates a function that reads the texts of a query as the declared types. Undefined if one does not match. */
export function queryReader(type: WireType) {
  const validator = Compile(strict(type));
  return (query: unknown): Readonly<Record<string, unknown>> | undefined => {
    const values = Object.fromEntries(
      Object.entries(Object(query)).map(([name, text]) => {
        const declared = type.properties?.[name] ?? type.additionalProperties;
        return [name, queryValue(text, declared)];
      }),
    );
    return validator.Check(values) ? values : undefined;
  };
}

/** The value that a text of a query stands for. */
function queryValue(text: unknown, declared: WireType | undefined): unknown {
  const [kind] = [declared?.documented ?? declared?.type].flat();
  if (kind === 'array') return [text].flat().map((item) => queryValue(item, declared?.items));
  if (kind === 'integer' && /^(0|-?[1-9]\d*)$/.test(String(text))) {
    const number = Number(text);
    return Number.isSafeInteger(number) ? number : BigInt(String(text));
  }
  if (kind === 'number' && /^-?\d+(\.\d+)?$/.test(String(text))) return Number(text);
  const isBoolean = kind === 'boolean' && (text === 'true' || text === 'false');
  return isBoolean ? text === 'true' : text;
}
