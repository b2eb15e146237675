import { globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const find = (pattern: string) => globSync(pattern, { cwd: root.pathname });

/** The blocks of code that name the file they are from. */
const blocks = ['README.md', ...find('docs/tutorial/*.md')].flatMap((page) =>
  [...read(page).matchAll(/<!-- (\S+) -->\n```\w+(?: \[[^\]]+\])?\n([\s\S]*?)\n```/g)].map(
    ([, path = '', code = '']) => ({ page, path, code }),
  ),
);

test.each(blocks)('$page shows $path to its end', ({ page, path, code }) => {
  // The README leaves out what is imported.
  const start = page === 'README.md' ? 'export function' : '';
  expect(`${code}\n`).toBe(read(path).slice(read(path).indexOf(start)));
});

test('the tutorial shows each file of the first write', () => {
  const folder = 'packages/client-tests/first-write';
  const shown = new Set(blocks.map(({ path }) => path));
  const files = find(`${folder}/**/*.{html,js,svelte,ts,tsx,vue}`);
  expect(files.filter((path) => !/\.(test|d)\.tsx?$/.test(path)).sort()).toEqual([...shown].sort());
});
