import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../examples/operations/', import.meta.url);

/** The names of the example documents, one for each operation. */
export const operationNames = readdirSync(folder)
  .map((file) => file.replace(/\.graphql$/, ''))
  .sort();

/** The example document with this name. */
export function operation(name: string): string {
  return readFileSync(new URL(`${name}.graphql`, folder), 'utf8');
}
