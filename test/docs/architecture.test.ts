import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const root = new URL('../../', import.meta.url);
const text = readFileSync(new URL('docs/architecture.md', root), 'utf8');

/** The files and folders in a text, as links and in backticks. */
function pathsIn(markdown: string): string[] {
  const links = [...markdown.matchAll(/\]\(([^)#]+)\)/g)].map(([, path = '']) =>
    new URL(path, new URL('docs/', root)).pathname.slice(root.pathname.length),
  );
  const quoted = [...markdown.matchAll(/`([\w./-]+(?:\.ts|\.json|\.graphql|\/))`/g)].map(
    ([, path = '']) => path,
  );
  return [...new Set([...links, ...quoted])];
}

const paths = pathsIn(text);

test('the page names the main path', () => {
  expect(paths).toEqual(expect.arrayContaining(['src/gateway.ts', 'src/upstream/call.ts']));
});

test.each(paths)('%s exists', (path) => {
  const candidates = [path, `src/${path}`].map((candidate) => new URL(candidate, root));
  expect(candidates.some((candidate) => existsSync(candidate))).toBe(true);
});

test('the main path has fewer than 3,150 lines', () => {
  const steps = text.slice(text.indexOf('| Step |'), text.indexOf('## What a request'));
  const files = pathsIn(steps).filter((path) => path.startsWith('src/') && path.endsWith('.ts'));
  const resolvers = ['approvers', 'gl-codes', 'input', 'outcome', 'workflows'].map(
    (name) => `src/resolvers/${name}.ts`,
  );
  const lines = [...files, ...resolvers].map(
    (path) => readFileSync(new URL(path, root), 'utf8').split('\n').length - 1,
  );
  expect(files.length).toBeGreaterThan(10);
  expect(lines.reduce((sum, count) => sum + count)).toBeLessThan(3150);
});
