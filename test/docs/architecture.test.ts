import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = new URL('../../', import.meta.url).pathname;
const text = readFileSync(join(root, 'docs/explanation/architecture.md'), 'utf8');

/** The files and folders in backticks. The test of links has the others. */
const quoted = new Set(
  [...text.matchAll(/`([\w./-]+(?:\.ts|\.json|\.graphql|\/))`/g)].map(([, path = '']) => path),
);

function linksIn(markdown: string): string[] {
  return [...markdown.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = '']) =>
    join('docs/explanation', path),
  );
}

test.each([...quoted])('%s exists', (path) => {
  const candidates = [path, `src/${path}`].map((candidate) => join(root, candidate));
  expect(candidates.some((candidate) => existsSync(candidate))).toBe(true);
});

const [, inGateway = ''] = readFileSync(
  join(root, 'docs/explanation/life-of-a-write.md'),
  'utf8',
).split('\n## In the gateway\n');

/** The files in the first table with this head. */
function tableOf(markdown: string, head: string): string[] {
  const start = markdown.indexOf(head);
  const links = linksIn(markdown.slice(start, markdown.indexOf('\n\n', start)));
  return filesOf(links.filter((path) => path.startsWith('src/')));
}

/** The files on the path of a request. life-of-a-write.md has most of them. */
const mainPath = [...tableOf(text, '| Step |'), ...tableOf(inGateway, '| File |')];
const behind = tableOf(text, '| Files |');

/** These files, and all of these folders, each once. */
function filesOf(paths: string[]): string[] {
  const files = paths.flatMap((path) =>
    statSync(join(root, path)).isDirectory() ? globSync(`${path}/*.ts`, { cwd: root }) : [path],
  );
  return [...new Set(files)];
}

// But for gateway.ts, which imports also what only the start needs.
test.each(mainPath.slice(1))('the two pages name what %s uses', (path) => {
  const source = readFileSync(join(root, path), 'utf8');
  const imports = [...source.matchAll(/^(?:import|\}) [^;]*?from '(\.[^']+)'/gm)];
  const used = imports
    .map(([, target = '']) => join(path, '..', target))
    .filter((file) => !file.startsWith('src/generated/'));
  expect([...mainPath, ...behind]).toEqual(expect.arrayContaining(used));
});
