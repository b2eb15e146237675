import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { Loaders } from '../../src/graphql/loaders.ts';
import { prepareSearch } from '../../src/lib/search-text.ts';
import { filterCodes } from '../../src/resolvers/gl-codes.ts';
import { metric } from '../../testkit/metric.ts';
import { json } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const share = shareGateway();

const page = `query ($only: [String!], $search: String, $skip: Int! = 0, $first: Int) {
  glCodes(target: EMAIL, project: "north", only: $only, search: $search, skip: $skip, first: $first) {
    ... on GlCodeList { totalCount codes { target project code name value hide } }
  }
}`;

test('the error for an invalid row names the row', async () => {
  const row = { code: '4010', name: 'Travel', value: '', hide: 0 };
  const { gateway } = share(json({ service_status: { status: 0 }, list: [{ Code: '1' }, row] }));
  const { errors } = await gateway.graphql(page);
  expect(errors).toMatchObject([
    {
      message: 'The list of the service is invalid: row 2 has no code.',
      extensions: { code: 'UPSTREAM_INVALID_RESPONSE' },
    },
  ]);
});

test('a list has its codes with their target and project, and null for what a code lacks', async () => {
  const code = { Code: '4010', Name: 'Travel', Value: '9007199254740993', Hide: 1, Extra: [] };
  const { gateway } = share(json({ service_status: { status: 0 }, list: [code, { Value: null }] }));
  const { data } = await gateway.graphql(page);
  const requested = { target: 'EMAIL', project: 'north' };
  expect(data.glCodes.codes).toEqual([
    { ...requested, code: '4010', name: 'Travel', value: '9007199254740993', hide: 1 },
    { ...requested, code: null, name: null, value: null, hide: null },
  ]);
});

test.each([
  ...['application/json; charset=utf-8', 'text/json', 'text/plain', 'text/html', undefined],
])('the body of a response with content type %s is read', async (contentType) => {
  const { gateway } = share((response) => {
    if (contentType) response.setHeader('content-type', contentType);
    response.end('{"service_status":{"status":0},"list":[{"Name":"Zürich 東京"}]}');
  });
  const { data } = await gateway.graphql(page);
  expect(data.glCodes.codes).toMatchObject([{ name: 'Zürich 東京' }]);
});

const list = Array.from({ length: 10_000 }, (_, n) => {
  return { Code: `C${n}`, Name: `Ledger code ${n}`, Value: `value ${n}`, Hide: 0 };
});
const manyCodes = json(JSON.stringify({ service_status: { status: 0 }, list }));

test('the fields of a query that is executed a second time, because a list is long, are counted once', async () => {
  const { gateway } = share(manyCodes);
  const name = 'ledger_gateway_operations_total';
  const counted = () => metric(gateway, name, { operation: 'Query.glCodes' });
  const before = await counted();
  const field = 'glCodes(target: EMAIL, project: "twice"';
  const codes = '... on GlCodeList { codes { code name value hide project target } }';
  const query = `{ page: ${field}, first: 1) { ${codes} } all: ${field}) { ${codes} } }`;
  expect((await gateway.graphql(query)).errors).toBeUndefined();
  expect((await counted()) - before).toBe(2);
});

test('fields that differ only in what they keep share one call', async () => {
  const { service, gateway } = share(manyCodes);
  const code = (...codes: string[]) => codes.map((code) => ({ code }));
  const pages: Record<string, [args: string, page: object]> = {
    none: ['only: []', { totalCount: 0, codes: [] }],
    only: ['only: ["C3", "C1", "C3", "x"]', { totalCount: 2, codes: code('C1', 'C3') }],
    // 99, 990 to 999, 9900 to 9999.
    page: [
      'search: "LEDGER CODE 99", skip: 20, first: 3',
      { totalCount: 111, codes: code('C9909', 'C9910', 'C9911') },
    ],
    end: ['skip: 9999, first: 2147483647', { totalCount: 10_000, codes: code('C9999') }],
    beyond: ['skip: 2147483647', { totalCount: 10_000, codes: [] }],
    zero: ['first: 0', { totalCount: 10_000, codes: [] }],
    count: ['search: "code 1"', { totalCount: 1_111 }],
  };
  const fields = Object.entries(pages).map(([alias, [args, page]]) => {
    const selected = 'codes' in page ? 'totalCount codes { code }' : 'totalCount';
    return `${alias}: glCodes(target: EMAIL, project: "north", ${args}) { ... on GlCodeList { ${selected} } }`;
  });

  const { data, errors } = await gateway.graphql(`{ ${fields.join(' ')} }`);
  const expected = Object.entries(pages).map(([alias, [, page]]) => [alias, page]);
  expect([data, errors]).toEqual([Object.fromEntries(expected), undefined]);
  expect(service.received).toHaveLength(1);
});

test('the limit of fields counts only what is returned', async () => {
  const { gateway } = share(manyCodes);
  const names = Array.from({ length: 51 }, (_, n) => `a${n}: code`).join(' ');
  const query = page.replace('target project code', names);
  expect((await gateway.graphql(query, { first: 10 })).errors).toBeUndefined();
  const extensions = { code: 'OPERATION_LIMIT_EXCEEDED' };
  expect((await gateway.graphql(query)).errors).toMatchObject([{ extensions }]);
});

const item = (code: string | null, name: string | null = null, value: string | null = null) => {
  return { code, name, value };
};

/** Loaders without limits. */
const loaders: Pick<Loaders, 'searchText' | 'derive'> = {
  searchText: async (list, textsOf) => prepareSearch(list, textsOf),
  derive: async (_, make) => make(),
};

const filter = (codes: ReturnType<typeof item>[], args: Parameters<typeof filterCodes>[1]) =>
  filterCodes(codes, args, loaders);

test('any filter keeps what a plain one does', async () => {
  const text = fc.option(fc.string({ unit: fc.constantFrom('a', 'B', 'b', '.'), maxLength: 4 }));
  const property = fc.asyncProperty(
    fc.array(fc.tuple(text, text, text), { maxLength: 12 }),
    fc.option(fc.array(fc.constantFrom('a', 'b', 'ab', ''), { maxLength: 3 })),
    text,
    async (texts, only, search) => {
      const codes = texts.map(([code, name, value]) => item(code, name, value));
      const contains = (text: string | null) =>
        text?.toLowerCase().includes(search?.toLowerCase() ?? '') ?? false;
      const kept = codes.filter(
        ({ code, name, value }) =>
          (!only || only.some((allowed) => allowed === code)) &&
          (!search || [code, name, value].some(contains)),
      );
      expect(await filter(codes, { only, search })).toEqual(kept);
    },
  );
  await fc.assert(property);
});

test.each([
  ['Zürich', 'ZÜRICH', 1],
  ['ΟΔΟΣΑ', 'οδος', 1],
  ['Straße', 'STRAẞE', 1],
  ['a.*b', 'A.*', 1],
  ['🏭 Дом', 'дом', 1],
  ['\ud800 code', 'CODE', 1],
  ['a.b', 'axb', 0],
  ['axb', 'a.b', 0],
  ['İstanbul', 'istanbul', 0],
])('of a code named %j, a search for %j finds %d', async (name, search, count) => {
  expect(await filter([item(null, name)], { search })).toHaveLength(count);
});

test('no search matches across two texts', async () => {
  const codes = [item('ab', 'cd', 'ef'), item('gh')];
  for (const search of ['bc', 'abcd', 'bac', 'b\0c', 'fg', 'fag', '\0']) {
    expect(await filter(codes, { search })).toEqual([]);
  }
  expect(await filter([item('\0', 'a\nb')], { search: '\0' })).toHaveLength(1);
});

/** All characters that have letter case. */
const cased = Array.from({ length: 0x110000 }, (_, n) => n)
  .filter((n) => n < 0xd800 || n > 0xdfff)
  .map((n) => String.fromCodePoint(n))
  .filter((char) => char.toLowerCase() !== char || char.toUpperCase() !== char);

test('what differs by letter case only is found', async () => {
  const all = cased.join('');
  const codes = cased.map((char) => item(char));
  const text = prepareSearch(codes, ({ code }) => [code]);
  const prepared = { ...loaders, searchText: async () => text };
  const missing = [];
  for (const search of cased) {
    const found = await filterCodes(codes, { search }, prepared);
    const chars = new Set(found.map(({ code }) => code));
    const equal = all.match(new RegExp(search, 'giu')) ?? [];
    missing.push(...equal.filter((char) => !chars.has(char)));
  }
  expect(missing).toEqual([]);
});
