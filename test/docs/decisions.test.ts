import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const folder = fileURLToPath(new URL('../../docs/decisions/', import.meta.url));
const pages = readdirSync(folder)
  .filter((name) => /^\d.*\.md$/.test(name))
  .sort();
const numberOf = (page: string) => Number(page.split('-')[0]);
const list = readFileSync(`${folder}README.md`, 'utf8');
/** The numbers of decisions that a later one has replaced. The test of links checks that their successors exist. */
const replaced = [...list.matchAll(/^- (\d+), .+, by \[\d+\]\(.+\)$/gm)].map(([, number]) =>
  Number(number),
);

test('each decision has a page or a successor, and none has the number of another one', () => {
  const numbers = [...pages.map(numberOf), ...replaced].sort((a, b) => a - b);
  expect(numbers).toEqual(numbers.map((_, index) => index + 1));
});

test.each(pages)('%s has its number, its status and its date', (page) => {
  const [title = '', , status = ''] = readFileSync(folder + page, 'utf8').split('\n');
  expect(title).toMatch(new RegExp(`^# ${numberOf(page)}\\. .`));
  const [, date = ''] = /^\*\*Status:\*\* accepted · \*\*Date:\*\* (.+)$/.exec(status) ?? [];
  expect(new Date(date).toISOString().slice(0, 10)).toBe(date);
});

test('the list of decisions has each once, by its title', () => {
  const items = [...list.matchAll(/^- \[(.+)\]\((.+)\)$/gm)].map(([, title, page]) => [
    page,
    title,
  ]);
  const titles = pages.map((page) => [
    page,
    readFileSync(folder + page, 'utf8')
      .split('\n')[0]
      ?.slice(2),
  ]);
  expect(items.sort()).toEqual(titles);
});
