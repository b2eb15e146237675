import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { blocksOf } from './samples.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

/** The blocks of code that name the file they are from. */
const blocks = [
  ...read('docs/how-to/frontend.md').matchAll(/<!-- (\S+) -->\n```ts\n([\s\S]*?)\n```/g),
].map(([, path = '', code = '']) => ({ path, code }));

test('each block of code names the file that it is from', () => {
  expect(blocks).toHaveLength(blocksOf('tsx?', 'docs/how-to/frontend.md').length);
});

test('the page shows the code for each client', () => {
  const names = [
    'first-mutation',
    'apollo',
    'gql-tada',
    'graphql-request',
    'relay',
    'urql',
    'use-write',
  ];
  expect(blocks.map(({ path }) => path)).toEqual(
    expect.arrayContaining(names.map((name) => `packages/client/examples/${name}.ts`)),
  );
});

test('the first sample is complete', () => {
  const [first] = blocks;
  expect(`${first?.code}\n`).toBe(read('packages/client/examples/first-mutation.ts'));
});

test.each(blocks)('the code from $path is in that file', ({ path, code }) => {
  expect(read(path)).toContain(code);
});
