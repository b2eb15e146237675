import type { WireType } from './wire-types.ts';

/** What a request names, for the log and the audit record. Of texts, only the names of files may be shown. */
export type Targets = {
  /** Identifiers, by the names of their fields. Undefined if there are none. */
  readonly ids: Record<string, string[]> | undefined;
  /** How many more identifiers there are. Undefined if there are no more. */
  readonly omittedIds: number | undefined;
  readonly files: readonly FileTarget[];
};

/** A file, with its content in base64. */
export type FileTarget = { name: string; content: string };

/** How many characters the identifiers in a line of the log have at most: about 200 of usual length. */
const LOG_CHARACTERS = 1000;

/** What values of these types name, with so many characters of identifiers at most. */
export function targetsOf(
  types: readonly WireType[],
  values: readonly unknown[],
  maxCharacters: number,
): Targets {
  const ids: Record<string, string[]> = {};
  const files: FileTarget[] = [];
  let leftCharacters = maxCharacters;
  let omitted = 0;
  const addId = (name: string, id: string) => {
    leftCharacters -= id.length;
    if (leftCharacters < 0) {
      omitted += 1;
      return;
    }
    ids[name] ??= [];
    ids[name].push(id);
  };
  /** Collects what a value of this type names. It is in the field `name`. */
  function collect({ target, items, properties = {} }: WireType, name: string, value: unknown) {
    if (target === 'identifier' && typeof value === 'string') addId(name, value);
    if (items && Array.isArray(value)) for (const item of value) collect(items, name, item);
    const fields = Object.entries(properties).map(([field, type]) => {
      return { field, type, value: Reflect.get(Object(value), field) as unknown };
    });
    for (const one of fields) collect(one.type, one.field, one.value);
    const find = (kind: string) => fields.find(({ type }) => type.target === kind)?.value;
    const content = find('fileContent');
    if (typeof content === 'string') {
      files.push({ name: String(find('fileName') ?? ''), content });
    }
  }
  for (const [index, type] of types.entries()) collect(type, '', values[index]);
  const hasIds = Object.keys(ids).length > 0;
  return { ids: hasIds ? ids : undefined, omittedIds: omitted || undefined, files };
}

/** The identifiers of a request, as fields of a line of the log. */
export function loggedIds({ targets }: { targets: (maxCharacters: number) => Targets }) {
  const { ids, omittedIds } = targets(LOG_CHARACTERS);
  return { ids, omittedIds };
}
