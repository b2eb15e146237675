import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { possibleTypes } from '@ledger-gateway/client/possible-types';
import { buildSchema, isAbstractType } from 'graphql';
import { expect, test } from 'vitest';

const read = (name: string) =>
  readFile(fileURLToPath(import.meta.resolve(`@ledger-gateway/client/${name}`)), 'utf8');

test('the package has the schema, and the types that its unions and interfaces may have', async () => {
  const schema = buildSchema(await read('schema.graphql'));
  const expected = Object.values(schema.getTypeMap())
    .filter(isAbstractType)
    .map((type) => [type.name, schema.getPossibleTypes(type).map(({ name }) => name)]);
  expect(possibleTypes).toEqual(Object.fromEntries(expected));
});

test('tools can read the manifest of the package', async () => {
  expect(JSON.parse(await read('package.json'))).toHaveProperty('version');
});
