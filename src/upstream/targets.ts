import { createHash } from 'node:crypto';
import type { WireType } from './wire-types.ts';

/** What a request names, for the audit record. It never has a text of the request but the names of files. */
export type Targets = {
  /** Identifiers, by the names of their fields. */
  readonly ids: Record<string, string[]>;
  readonly files: FileTarget[];
  /** How many more identifiers there are. */
  omitted: number;
};

/** A file, with the SHA-256 (in hexadecimal) and the length of its content. */
type FileTarget = { name: string; sha256: string; bytes: number };

/** The characters of all identifiers that are kept: about 3,000 of usual length. */
const MAX_CHARACTERS = 65_536;

type Collect = (value: unknown, found: Collected) => void;
type Collected = Targets & { characters: number };

/** Creates a function that collects what values of these types name, by the types of their fields. */
export function targetsReader(...types: readonly WireType[]): (...values: unknown[]) => Targets {
  const collectors = types.map((type) => collectorOf(type, ''));
  return (...values) => {
    const found: Collected = { ids: {}, files: [], omitted: 0, characters: 0 };
    for (const [index, collect] of collectors.entries()) collect?.(values[index], found);
    const { ids, files, omitted } = found;
    return { ids, files, omitted };
  };
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
    found.files.push({ name: String(record[nameField ?? ''] ?? ''), ...digestOf(content) });
  };
}

function addIdentifier(name: string, value: unknown, found: Collected): void {
  if (typeof value !== 'string') return;
  found.characters += value.length;
  if (found.characters > MAX_CHARACTERS) {
    found.omitted += 1;
    return;
  }
  found.ids[name] ??= [];
  found.ids[name].push(value);
}

/** The SHA-256 and the length of a content in base64. */
function digestOf(content: string): { sha256: string; bytes: number } {
  const sha256 = createHash('sha256').update(content, 'base64').digest('hex');
  return { sha256, bytes: Buffer.byteLength(content, 'base64') };
}
