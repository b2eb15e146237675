import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

/** The code of the package's pages that names its file. That file has types that are checked, and is run. */
const samples = ['packages/client/README.md', 'packages/client/testing.md'].flatMap((page) =>
  [...read(page).matchAll(/<!-- (\S+) -->\n```\w+\n([\s\S]*?)\n```/g)].map(
    ([, path = '', code = '']) => ({ page, path, code }),
  ),
);

test.each(samples)('the code from $path in $page is in that file', ({ path, code }) => {
  expect(read(path)).toContain(code);
});

test('the pages of the package link only to files that it contains', () => {
  const { files } = JSON.parse(read('packages/client/package.json'));
  const links = ['README.md', 'testing.md'].flatMap((page) =>
    [...read(`packages/client/${page}`).matchAll(/\]\(([^)#\s]+)/g)].map(([, link = '']) => link),
  );
  const inside = links.filter((link) => !/^https:/.test(link));
  expect(inside.filter((link) => !['README.md', ...files].includes(link))).toEqual([]);
});

test('the tests for Vitest and Jest are the same', () => {
  const [vitest, jest] = ['vitest', 'jest'].map((runner) =>
    read(`packages/client-tests/testing/restart-button.${runner}.test.tsx`)
      .replace(/import .*'(vitest|@jest\/globals)';\n/, '')
      .replace(/ {2}(vi\.stubGlobal|globalThis\.fetch).*\n/, ''),
  );
  expect(jest).toBe(vitest);
});
