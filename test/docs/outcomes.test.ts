import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse, visit } from 'graphql';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

const members = new Set<string>();
visit(parse(read('schema.graphql')), {
  UnionTypeDefinition: ({ types }) => {
    for (const { name } of types ?? []) members.add(name.value);
  },
});

test('the page of errors lists every member of a union under Outcomes', () => {
  const [, rest = ''] = read('docs/reference/errors.md').split('\n## Outcomes\n');
  const [section = ''] = rest.split('\n## ');
  expect([...members].filter((name) => !section.includes(`\`${name}\``))).toEqual([]);
});
