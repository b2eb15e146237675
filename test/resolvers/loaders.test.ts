import { expect, test } from '@jest/globals';
import { ResponseLimits } from '../../src/graphql/response-limits.ts';
import { createLoaders } from '../../src/resolvers/loaders.ts';
import type { Calls } from '../../src/upstream/call.ts';
import { createClient } from '../../src/upstream/client.ts';
import { scopeOf } from '../support/upstream-call.ts';

/** Calls whose reads all have a further page, which no operation has yet. */
function startPages() {
  let reads = 0;
  const calls: Calls = {
    async read() {
      reads += 1;
      return Object({
        status: 0,
        invoiceId: null,
        message: null,
        list: [{}],
        bytes: 9,
        next_page: '2',
      });
    },
    write: () => Promise.reject(new Error('not a read')),
  };
  const scope = scopeOf();
  const loaders = createLoaders(createClient(calls, scope), new ResponseLimits(scope, 1_000_000));
  return { loaders, reads: () => reads };
}

test('what a response has beside its list is there for each of two equal fields', async () => {
  const { loaders, reads } = startPages();
  const query = { target: 5, project: 'north', includeHide: false };
  const read = () => loaders.list('getGLCodes5', query, ({ list }) => list.map(() => ({ id: 1 })));
  const page = { status: 0, list: [{ id: 1 }], next_page: '2' };
  expect(await Promise.all([read(), read()])).toMatchObject([page, page]);
  expect(reads()).toBe(1);
});
