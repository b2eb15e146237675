import { expect, test } from '@jest/globals';
import { Kind, parse } from 'graphql';
import { findCompiled } from '../../src/graphql/compiled-query.ts';
import { GraphqlDocument } from '../../src/graphql/document.ts';
import { schema } from '../support/schema.ts';

const names = ['a', 'b', 'c', 'd'];
const text = `query One(${names.map((name) => `$${name}: Boolean!`).join()}) {
  ${names.map((name) => `${name}: __typename @include(if: $${name})`).join('\n')} z: __typename
} query Other { z: __typename } mutation Write { z: __typename }`;

function start() {
  const document = new GraphqlDocument(text, '', schema);
  document.ast = parse(text);
  const find = (operationName: string, variables: object, threshold?: number) => {
    const operation = document.ast.definitions.find(
      (one) => one.kind === Kind.OPERATION_DEFINITION && one.name?.value === operationName,
    );
    if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('no operation');
    return findCompiled(document, operation, { ...variables }, threshold);
  };
  return { document, find };
}

test('every combination of conditions is compiled, however many others were before', async () => {
  const { document, find } = start();
  for (let n = 0; n < 16; n++) {
    const variables = Object.fromEntries(names.map((name, bit) => [name, (n & (1 << bit)) > 0]));
    expect(await find('One', variables, 1)).not.toBeNull();
  }
  expect(document.plans.size).toBe(8);
});

test('variables that an operation does not declare make no further plans', async () => {
  const { document, find } = start();
  for (const a of ['1', 2, null, 'x'.repeat(1_000_000)]) await find('Other', { a });
  expect([...document.plans.values()]).toEqual([expect.objectContaining({ executions: 4 })]);
});
