import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { anchorsOf } from './anchors.ts';

const root = new URL('../../', import.meta.url);

const exclude = (path: string) => path.includes('node_modules');
const pages = globSync('**/*.md', { cwd: root.pathname, exclude });

/** The links of a page that lead to no file, or to no heading of one. */
function brokenLinks(page: string): string[] {
  const url = new URL(page, root);
  const text = readFileSync(url, 'utf8').replaceAll(/```[\s\S]*?```/g, '');
  const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  return links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false;
    const target = new URL(link, url);
    const anchor = target.hash.slice(1);
    target.hash = '';
    if (!existsSync(target)) return true;
    return anchor !== '' && !anchorsOf(readFileSync(target, 'utf8')).has(anchor);
  });
}

test.each(pages)('every link of %s leads somewhere', (page) => {
  expect(brokenLinks(page)).toEqual([]);
});
