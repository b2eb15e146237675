import { readFileSync, statSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const root = new URL('../../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');

test('the README of the package links to no file of the repository, which the package does not contain', () => {
  const links = [...read('packages/client/README.md').matchAll(/\]\(([^)#\s]+)/g)];
  expect(links.filter(([, link = '']) => !/^https:/.test(link))).toEqual([]);
});

test('the README of the package names only pages that exist', () => {
  const pages = [...read('packages/client/README.md').matchAll(/`(docs\/[^`]+)`/g)];
  expect(pages).not.toEqual([]);
  for (const [, page = ''] of pages) expect(() => statSync(new URL(page, root))).not.toThrow();
});

test('the tests for Vitest and Jest are the same', () => {
  const [vitest, jest] = ['vitest', 'jest'].map((runner) =>
    read(`packages/client-tests/first-write/restart-button.${runner}.test.tsx`)
      .replace(/import .*'(vitest|@jest\/globals)';\n/, '')
      .replace(/ {2}(vi\.stubGlobal|globalThis\.fetch).*\n/, ''),
  );
  expect(jest).toBe(vitest);
});
