import { existsSync, globSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const root = new URL('../../', import.meta.url);

const exclude = (path: string) => path.includes('node_modules');
const pages = globSync('**/*.md', { cwd: root.pathname, exclude });

/** The anchors of a page's headings, as GitHub generates them. */
function anchorsOf(markdown: string): Set<string> {
  const headings = [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => heading);
  const slugs = headings.map((heading) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  return new Set(slugs);
}

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

test('a missing heading is noticed', () => {
  expect(anchorsOf('# One two\n## `A`, [b](c)')).toEqual(new Set(['one-two', 'a-b']));
});
