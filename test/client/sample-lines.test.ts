import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const root = new URL('../../', import.meta.url);
const folder = 'packages/client/examples';
const files = readdirSync(new URL(folder, root)).map((name) => `${folder}/${name}`);

/** How many lines each call of this function has in a file, whose indentation shows where it ends. */
function linesOfCalls(path: string, name: string): number[] {
  const call = new RegExp(`^( *).*\\b${name}\\(\\{(.*\\}\\)|[^]*?^\\1\\}\\))`, 'gm');
  const calls = readFileSync(new URL(path, root), 'utf8').matchAll(call);
  return [...calls].map(([text]) => text.split('\n').length);
}

test.each([
  ['createWrite', 15, files],
  // What React needs, too.
  ['createWrite', 8, [`${folder}/relay.ts`]],
  ['useWrite', 8, ['docs/how-to/frameworks.md', 'packages/client/README.md']],
])('a write needs few lines with %s', (name, limit, paths) => {
  const lines = paths.flatMap((path) => linesOfCalls(path, name));
  expect(lines).not.toEqual([]);
  expect(Math.max(...lines)).toBeLessThanOrEqual(limit);
});
