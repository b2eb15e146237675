import { expect, jest, test } from '@jest/globals';
import { ResponseLimits } from '../../src/graphql/response-limits.ts';
import type { RequestScope } from '../../src/request-scope.ts';
import { createLoaders } from '../../src/resolvers/loaders.ts';
import { pagesOf } from '../../src/resolvers/pages.ts';
import type { Calls } from '../../src/upstream/call.ts';
import { createClient } from '../../src/upstream/client.ts';
import { operations } from '../../src/upstream/operations.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
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
  return { loaders: loadersOf(scopeOf(), calls), reads: () => reads };
}

const noCalls: Calls = {
  read: () => Promise.reject(new Error('not expected')),
  write: () => Promise.reject(new Error('not a read')),
};

function loadersOf(scope: RequestScope, calls = noCalls) {
  return createLoaders(createClient(calls, scope), new ResponseLimits(scope, 1_000_000));
}

test('references are looked up in all pages, and a page that follows itself is an invalid response', async () => {
  // No operation has pages yet.
  const pages = { parameter: 'project', next: 'next_page' };
  Object.assign(operations.getGLCodes5, { pages });
  closeAfterTest(() => Object.assign(operations.getGLCodes5, { pages: null }));
  const indexOf = (next: Record<string, string | null>) => {
    const calls: Calls = {
      async read({ search = '' }) {
        const project = new URLSearchParams(search).get('project') ?? '';
        const list = [{ Code: project }];
        const rest = { status: 0, invoiceId: null, message: null, bytes: 9 };
        return Object({ ...rest, list, next_page: next[project] });
      },
      write: () => Promise.reject(new Error('not a read')),
    };
    const scope = scopeOf();
    const limits = new ResponseLimits(scope, 1_000_000);
    const loaders = createLoaders(createClient(calls, scope), limits);
    const first = { target: 5, project: 'a', includeHide: false };
    const read = () =>
      pagesOf(loaders, 'getGLCodes5', first, ({ list }) =>
        list.map(({ Code }) => ({ __typename: 'One', code: Code ?? null })),
      );
    return loaders.index('codes', read, ({ code }) => code);
  };
  expect([...(await indexOf({ a: 'b', b: 'c', c: null })).keys()]).toEqual(['a', 'b', 'c']);
  await expect(indexOf({ a: 'b', b: 'b' })).rejects.toMatchObject({
    code: 'UPSTREAM_INVALID_RESPONSE',
  });
});

test('what a response has beside its list is there for each of two equal fields', async () => {
  const { loaders, reads } = startPages();
  const query = { target: 5, project: 'north', includeHide: false };
  const read = () => loaders.list('getGLCodes5', query, ({ list }) => list.map(() => ({ id: 1 })));
  const page = { status: 0, list: [{ id: 1 }], next_page: '2' };
  const pages = await Promise.all([read(), read()]);
  expect(pages.map((one) => ({ ...one, list: [...one.list] }))).toMatchObject([page, page]);
  expect(reads()).toBe(1);
});

test('the text of a list for searches is prepared once, and each request that uses it reserves memory once', async () => {
  const list = Array.from({ length: 20_000 }, (_, n) => ({ id: `id ${n}` }));
  const textsOf = jest.fn(({ id }: { id: string }) => [id]);
  const texts = new Set<object>();
  for (const scope of [scopeOf(), scopeOf('other')]) {
    const { searchText } = loadersOf(scope);
    for (const text of await Promise.all([searchText(list, textsOf), searchText(list, textsOf)])) {
      texts.add(text);
    }
    expect(scope.reservation.peakBytes).toBe(80_000);
  }
  expect([texts.size, textsOf.mock.calls.length]).toEqual([1, list.length]);
});
