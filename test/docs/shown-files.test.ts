import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { blocksOf, operationsOf } from './samples.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

const pages = '{docs/how-to,packages/client}/*.md';
const languages = '(?:tsx?|js)';

/** A block of code below the name of the file that it is from. */
const named = /<!-- (\S+) -->\n( *)```\w+(?: \[[^\]]+\])?\n([\s\S]*?)\n\2```/g;

/** The blocks of code that name their files. The types of these files are checked, and most of them are run. */
const blocks = [
  ...new Set(blocksOf(languages, pages).map(({ where }) => where.replace(/:\d+$/, ''))),
]
  .sort()
  .flatMap((page) =>
    [...read(page).matchAll(named)].map(([, path = '', , code = '']) => ({ page, path, code })),
  );

test.each([...new Set(blocks.map(({ page }) => page))])(
  'each block of code of %s names its file',
  (page) => {
    expect(blocks.filter((block) => block.page === page)).toHaveLength(
      blocksOf(languages, page).length,
    );
  },
);

test.each(blocks)('the code from $path in $page is in that file', ({ path, code }) => {
  expect(read(path)).toContain(code);
});

test('the page about GraphQL clients shows the code for each client', () => {
  const names = 'apollo axios gql-tada graphql-request relay rtk-query urql villus'.split(' ');
  const shown = blocks.filter(({ page }) => page === 'docs/how-to/graphql-clients.md');
  expect(shown.map(({ path }) => path).sort()).toEqual(
    names.map((name) => `packages/client/examples/${name}.ts`),
  );
});

/** The blocks that a reader copies as whole files. */
const files = [
  ['packages/client/README.md', 'packages/client/examples/first-mutation.ts'],
  [
    'docs/how-to/test-an-app.md',
    'packages/client-tests/first-write/restart-button.vitest.test.tsx',
  ],
  ['docs/how-to/test-an-app.md', 'packages/client-tests/jest.config.js'],
] as const;

test.each(files)('%s shows %s from its beginning to its end', (page, path) => {
  const shown = blocks.find((block) => block.page === page && block.path === path);
  expect(`${shown?.code}\n`).toBe(read(path));
});

/** The mutations that a reader copies. */
const mutations = operationsOf(
  'packages/client/examples/*.ts',
  'packages/client-tests/first-write/{restart.ts,javascript/main.js}',
  'examples/web/src/documents/*',
).filter(({ text }) => /^\s*mutation\b/.test(text));

// Without this code, `createWrite` cannot tell whether asking again may help.
test.each(mutations)('$where selects the code of an unknown outcome', ({ text }) => {
  expect(text).toMatch(/on LedgerOutcomeUnknown \{[^}]*\bcode\b/);
});
