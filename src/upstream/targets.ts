import type { WireType } from './wire-types.ts';

/** What a request names, for the log and the audit record. Of texts, only the names of files may be shown. */
export type Targets = {
  /** Identifiers, by the names of their fields. Undefined if there are none. */
  readonly ids: Record<string, string[]> | undefined;
  /** How many more identifiers there are. Undefined if there are no more. */
  readonly omittedIds: number | undefined;
  readonly files: FileTarget[];
};

/** A file, with its content in base64. */
export type FileTarget = { name: string; content: string };

/** How many characters the identifiers in a line of the log have at most: about 200 of usual length. */
const LOG_CHARACTERS = 1000;

type Collected = {
  ids: Record<string, string[]>;
  omitted: number;
  files: FileTarget[];
  /** How many more characters identifiers may have. */
  leftCharacters: number;
};

/** What values of these types name, with so many characters of identifiers at most. */
export function targetsOf(
  types: readonly WireType[],
  values: readonly unknown[],
  maxCharacters: number,
): Targets {
  const found: Collected = { ids: {}, files: [], omitted: 0, leftCharacters: maxCharacters };
  for (const [index, type] of types.entries()) collect(type, '', values[index], found);
  const { ids, files, omitted } = found;
  return {
    ids: Object.keys(ids).length > 0 ? ids : undefined,
    omittedIds: omitted || undefined,
    files,
  };
}

/** The identifiers of a request, as fields of a line of the log. */
export function loggedIds({ targets }: { targets: (maxCharacters: number) => Targets }) {
  const { ids, omittedIds } = targets(LOG_CHARACTERS);
  return { ids, omittedIds };
}

/** Collects what a value of this type names. It is in the field `name`. */
function collect(type: WireType, name: string, value: unknown, found: Collected): void {
  const { target, items, properties } = type;
  if (target === 'identifier') addIdentifier(name, value, found);
  if (items && Array.isArray(value)) for (const item of value) collect(items, name, item, found);
  if (!properties) return;
  const record: Record<string, unknown> = Object(value);
  const file: Partial<Record<string, unknown>> = {};
  for (const [field, inner] of Object.entries(properties)) {
    collect(inner, field, record[field], found);
    if (inner.target) file[inner.target] = record[field];
  }
  const { fileName = '', fileContent: content } = file;
  if (typeof content === 'string') found.files.push({ name: String(fileName ?? ''), content });
}

function addIdentifier(name: string, value: unknown, found: Collected): void {
  if (typeof value !== 'string') return;
  found.leftCharacters -= value.length;
  if (found.leftCharacters < 0) {
    found.omitted += 1;
    return;
  }
  found.ids[name] ??= [];
  found.ids[name].push(value);
}
