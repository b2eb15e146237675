import { readFileSync } from 'node:fs';
import { join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

/** The packages of the page are folders of the repository. */
const packages: Record<string, string> = {
  '@ledger-gateway/at-most-once': 'packages/at-most-once/src/index.ts',
  '@ledger-gateway/client': 'packages/client/src/index.ts',
  '@ledger-gateway/client/react': 'packages/client/src/react.ts',
};

const rows = [
  ...read('docs/explanation/life-of-a-write.md').matchAll(
    /^\| \[.+?\]\(\.\.\/\.\.\/(.+?)\) \| `(.+?)` \|/gm,
  ),
].map(([, path = '', name = '']) => ({ path, name }));

/** The files that a file imports or exports from. */
function importsOf(path: string): string[] {
  const targets = [...read(path).matchAll(/ from '(.+?)'/g)].map(([, target = '']) => target);
  return targets.map((target) => packages[target] ?? normalize(join(path, '..', target)));
}

test('the page has a row for each step', () => {
  expect(rows.length).toBeGreaterThan(15);
});

test.each(rows)('$path declares $name', ({ path, name }) => {
  const declaration = new RegExp(
    `(?:const|function|class|type|async|^ +|^ +readonly) ?${name}\\b`,
    'm',
  );
  expect(read(path)).toMatch(declaration);
});

/** What connects the parts: the packages of the browser, and the parts of the gateway. */
const connections = [
  'packages/at-most-once/src/index.ts',
  'packages/client/src/index.ts',
  'src/gateway.ts',
  'src/graphql/request-context.ts',
  'src/idempotency/idempotency.ts',
  'src/resolvers/ledger.ts',
  'src/upstream/declarations.ts',
];

test.each(rows.map(({ path }, index) => ({ path, index })).filter(({ index }) => index > 0))(
  '$path is used by an earlier step, or connected to one',
  ({ path, index }) => {
    const users = [...rows.slice(0, index).map((row) => row.path), ...connections];
    expect(users.flatMap(importsOf)).toContain(path);
  },
);
