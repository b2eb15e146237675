import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parseSync, type TSTypeAliasDeclaration, Visitor } from 'oxc-parser';
import { times } from '../../packages/client/src/times.ts';

const root = new URL('../../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), 'utf8');
const page = read('docs/reference/client.md');

/** The rows of the table below a heading, by the name in their first cell. */
function rowsBelow(heading: string): Map<string, string[]> {
  const [, rest = ''] = page.split(new RegExp(`^#+ ${heading}\n`, 'm'));
  const [section = ''] = rest.split(/^#/m);
  const rows = [...section.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)];
  return new Map(rows.map(([, name = '', cells = '']) => [name, cells.split(' | ')]));
}

/** The names of the members that a type declares itself. */
function membersOf(path: string, type: string): string[] {
  const names: string[] = [];
  const collect = (annotation: TSTypeAliasDeclaration['typeAnnotation']): void => {
    if (annotation.type === 'TSIntersectionType') annotation.types.forEach(collect);
    if (annotation.type !== 'TSTypeLiteral') return;
    for (const member of annotation.members) {
      if (member.type === 'TSPropertySignature' && member.key.type === 'Identifier') {
        names.push(member.key.name);
      }
    }
  };
  new Visitor({
    TSTypeAliasDeclaration(node) {
      if (node.id.name === type) collect(node.typeAnnotation);
    },
  }).visit(parseSync(path, read(path)).program);
  return names;
}

test.each([
  ['LedgerFetchOptions', 'attempts'],
  ['SettleOptions', 'settle'],
  ['RetryOptions', 'retry-queries'],
  ['WriteOptions', 'write'],
  ['Write', 'write'],
  ['TestGatewayOptions', 'testing'],
  ['TestGateway', 'testing'],
])('the page lists every member of %s, and no other', (type, file) => {
  const members = membersOf(`packages/client/src/${file}.ts`, type);
  expect(members).not.toEqual([]);
  expect([...rowsBelow(type).keys()].sort()).toEqual(members.sort());
});

test.each(Object.entries(times))('the default of %s is %d', (name, value) => {
  expect(rowsBelow('LedgerFetchOptions').get(name)?.[0]).toBe(String(value));
});

test.each(['index', 'react', 'testing', 'possible-types'])(
  'the page names every export of %s',
  (file) => {
    const path = `packages/client/src/${file}.ts`;
    const { module } = parseSync(path, read(path));
    const names = module.staticExports.flatMap(({ entries }) =>
      entries.map(({ exportName }) => exportName.name ?? ''),
    );
    expect(names).not.toEqual([]);
    const isNamed = (name: string) => new RegExp(`(\`|^#+ )${name}\\b`, 'm').test(page);
    expect(names.filter((name) => !isNamed(name))).toEqual([]);
  },
);

test('the picture of the states of a button has each phase of the table', () => {
  const outcomes = read('docs/how-to/show-the-outcome.md');
  const [, picture = ''] = /```mermaid\n(.*?)```/s.exec(outcomes) ?? [];
  const [, section = ''] = outcomes.split('\n## The seven states\n');
  const [table = ''] = section.split('\nThe button of the action');
  const phases = [...table.matchAll(/^\| `(\w+)` \|/gm)].map(([, phase]) => phase);
  expect(phases).toHaveLength(7);
  const states = [...picture.matchAll(/\b\w+\b/g)].map(([word]) => word);
  expect(states).toEqual(expect.arrayContaining(phases));
});
