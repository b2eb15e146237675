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

const [mainPath = [], behind = []] = ['| Step |', '| Files |'].map((head) => {
  const start = text.indexOf(head);
  return filesOf(linksIn(text.slice(start, text.indexOf('\n\n', start))));
});

/** These files, and all of these folders, each once. */
function filesOf(paths: string[]): string[] {
  const files = paths.flatMap((path) =>
    statSync(join(root, path)).isDirectory() ? globSync(`${path}/*.ts`, { cwd: root }) : [path],
  );
  return [...new Set(files)];
}

// But for gateway.ts, which imports also what only the start needs.
test.each(mainPath.slice(1))('the page names what %s uses', (path) => {
  const source = readFileSync(join(root, path), 'utf8');
  const imports = [...source.matchAll(/^(?:import|\}) [^;]*?from '(\.[^']+)'/gm)];
  const used = imports
    .map(([, target = '']) => join(path, '..', target))
    .filter((file) => !file.startsWith('src/generated/'));
  expect([...mainPath, ...behind]).toEqual(expect.arrayContaining(used));
});
