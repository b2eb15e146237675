import { expect, jest, test } from '@jest/globals';
import { createLoaders } from '../../src/graphql/loaders.ts';
import { ResponseLimits } from '../../src/graphql/response-limits.ts';
import type { RequestScope } from '../../src/request-scope.ts';
import type { Calls } from '../../src/upstream/call.ts';
import { scopeOf } from '../support/upstream-call.ts';

const noCalls: Calls = {
  read: () => Promise.reject(new Error('not expected')),
  write: () => Promise.reject(new Error('not a read')),
};

function loadersOf(scope: RequestScope) {
  return createLoaders(noCalls, scope, new ResponseLimits(scope, 1_000_000));
}

test('the text of a list for searches is prepared once, also for other requests', async () => {
  const list = Array.from({ length: 20_000 }, (_, n) => ({ id: `id ${n}` }));
  const textsOf = jest.fn(({ id }: { id: string }) => [id]);
  const texts = new Set<object>();
  for (const scope of [scopeOf(), scopeOf('other')]) {
    const { searchText } = loadersOf(scope);
    for (const text of await Promise.all([searchText(list, textsOf), searchText(list, textsOf)])) {
      texts.add(text);
    }
  }
  expect([texts.size, textsOf.mock.calls.length]).toEqual([1, list.length]);
});

test('what is made of a list takes memory for a reference to each item', async () => {
  const scope = scopeOf();
  const list = Array.from({ length: 20_000 }, () => ({}));
  expect(await loadersOf(scope).derive(list, () => list.slice(1))).toHaveLength(19_999);
  expect(scope.reservation.peakBytes).toBe(160_000);
});
