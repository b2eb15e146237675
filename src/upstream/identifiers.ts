import type { WireType } from './wire-types.ts';

/** The identifiers that a request names, by the names of their fields. Of other values, the log shows nothing. */
export type Identifiers = {
  /** Undefined if there are none. */
  readonly ids: Record<string, string[]> | undefined;
  /** How many more there are. Undefined if there are no more. */
  readonly omittedIds: number | undefined;
};

/** A file of a request, with its content in base64. The audit record shows its name, and the length and a hash of its content. */
export type SentFile = { readonly name: string; readonly content: string };

/** How many characters the identifiers in a line of the log have at most: about 200 of usual length. */
const LOG_CHARACTERS = 1000;

/** The identifiers in values of these types, with so many characters at most. */
export function identifiersIn(
  types: readonly WireType[],
  values: readonly unknown[],
  maxCharacters: number,
): Identifiers {
  let ids: Identifiers['ids'];
  let [left, omitted] = [maxCharacters, 0];
  const add = (name: string, id: string) => {
    left -= id.length;
    if (left < 0) {
      omitted += 1;
      return;
    }
    ids ??= {};
    ids[name] ??= [];
    ids[name].push(id);
  };
  /** Collects those of a value of this type. It is in the field `name`. */
  function collect({ identifies, items, properties = {} }: WireType, name: string, value: unknown) {
    if (identifies && typeof value === 'string') add(name, value);
    if (items && Array.isArray(value)) for (const item of value) collect(items, name, item);
    for (const [field, type] of Object.entries(properties)) {
      collect(type, field, Reflect.get(Object(value), field));
    }
  }
  for (const [index, type] of types.entries()) collect(type, '', values[index]);
  return { ids, omittedIds: omitted || undefined };
}

/** The identifiers of a request, as fields of a line of the log. */
export const loggedIds = ({ identifiers }: { identifiers(maxCharacters: number): Identifiers }) =>
  identifiers(LOG_CHARACTERS);
