import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parseSync, Visitor } from 'oxc-parser';

const root = new URL('../../', import.meta.url);
const page = readFileSync(new URL('docs/reference/promises.md', root), 'utf8');
const rows = page
  .split('\n')
  .filter((line) => line.startsWith('| ') && !/^\| (Promise|What)/.test(line));

/** The texts in a file of tests, as in its code. */
function textsIn(path: string): Set<unknown> {
  const texts = new Set<unknown>();
  const source = readFileSync(new URL(path, root), 'utf8');
  new Visitor({ Literal: ({ value }) => void texts.add(value) }).visit(
    parseSync(path, source).program,
  );
  return texts;
}

test('the page has a row for each of some thirty promises', () => {
  expect(rows.length).toBeGreaterThan(30);
});

test.each(rows)('%s', (row) => {
  const [, path = '', title] = /\| `(\S+\.test\.tsx?)`: "(.+)" \|$/.exec(row) ?? [];
  expect([path, existsSync(new URL(path, root))]).toEqual([path, true]);
  expect(textsIn(path)).toContain(title);
});
