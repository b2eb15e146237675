import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

/** The blocks of code that name the file they are from. */
const blocks = [
  ...read('docs/frontend.md').matchAll(/<!-- (\S+) -->\n```ts\n([\s\S]*?)\n```/g),
].map(([, path = '', code = '']) => ({ path, code }));

test('the page shows the link for Apollo Client and the exchanges for urql', () => {
  expect(blocks.map(({ path }) => path)).toEqual(
    expect.arrayContaining([
      'examples/web/src/links/idempotency-link.ts',
      'examples/web/urql/urql-client.ts',
    ]),
  );
});

test.each(blocks)('the code from $path is in that file', ({ path, code }) => {
  expect(read(path)).toContain(code);
});
