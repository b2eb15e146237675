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

type Collect = (value: unknown, found: Collected) => void;
type Collected = {
  ids: Record<string, string[]>;
  omitted: number;
  files: FileTarget[];
  /** How many more characters identifiers may have. */
  leftCharacters: number;
};

/** Creates a function that collects what values of these types name, by the types of their fields. */
export function targetsReader(...types: readonly WireType[]) {
  const collectors = types.map((type) => collectorOf(type, ''));
  return (values: readonly unknown[], maxCharacters: number): Targets => {
    const found: Collected = { ids: {}, files: [], omitted: 0, leftCharacters: maxCharacters };
    for (const [index, collect] of collectors.entries()) collect?.(values[index], found);
    const { ids, files, omitted } = found;
    return {
      ids: Object.keys(ids).length > 0 ? ids : undefined,
      omittedIds: omitted || undefined,
      files,
    };
  };
}

/** The identifiers of a request, as fields of a line of the log. */
export function loggedIds({ targets }: { targets: (maxCharacters: number) => Targets }) {
  const { ids, omittedIds } = targets(LOG_CHARACTERS);
  return { ids, omittedIds };
}

/** Undefined if values of this type name nothing. */
function collectorOf(
  { target, items, properties = {} }: WireType,
  at: string,
): Collect | undefined {
  if (target === 'identifier') return (value, found) => addIdentifier(at, value, found);
  const item = items && collectorOf(items, at);
  if (item) {
    return (values, found) => {
      if (Array.isArray(values)) for (const value of values) item(value, found);
    };
  }
  const entries = Object.entries(properties);
  const fields = entries.flatMap(([name, type]) => {
    const collect = collectorOf(type, name);
    return collect ? [{ name, collect }] : [];
  });
  const fieldOf = (kind: WireType['target']) =>
    entries.find(([, type]) => type.target === kind)?.[0];
  const [nameField, contentField] = [fieldOf('fileName'), fieldOf('fileContent')];
  if (fields.length === 0 && contentField === undefined) return undefined;
  return (value, found) => {
    const record: Record<string, unknown> = Object(value);
    for (const { name, collect } of fields) collect(record[name], found);
    const content = contentField === undefined ? undefined : record[contentField];
    if (typeof content !== 'string') return;
    found.files.push({ name: String(record[nameField ?? ''] ?? ''), content });
  };
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
