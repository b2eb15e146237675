import { expect, test } from '@jest/globals';
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
  const nines = ['C999', ...Array.from({ length: 10 }, (_, n) => `C999${n}`)];
  const pages: Record<string, [args: string, page: object]> = {
    none: ['only: []', { totalCount: 0, codes: [] }],
    only: ['only: ["C3", "C1", "C3", "x"]', { totalCount: 2, codes: code('C1', 'C3') }],
    // 99, 990 to 999, 9900 to 9999.
    page: [
      'search: "C99 LEDGER code", skip: 20, first: 3',
      { totalCount: 111, codes: code('C9909', 'C9910', 'C9911') },
    ],
    end: ['skip: 9999, first: 2147483647', { totalCount: 10_000, codes: code('C9999') }],
    beyond: ['skip: 2147483647', { totalCount: 10_000, codes: [] }],
    zero: ['first: 0', { totalCount: 10_000, codes: [] }],
    count: ['search: "code C1"', { totalCount: 1_111 }],
    best: ['search: "c9", first: 2', { totalCount: 1_111, codes: code('C9', 'C90') }],
    prefix: ['codePrefix: "c-9.99", skip: 1', { totalCount: 11, codes: code(...nines.slice(1)) }],
    order: ['orderBy: CODE, skip: 9, first: 2', { totalCount: 10_000, codes: code('C9', 'C10') }],
    name: [
      'orderBy: NAME, codePrefix: "C1", search: "code", first: 2',
      { totalCount: 1_111, codes: code('C1', 'C10') },
    ],
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

const mixed = ['B', '10', '9', '', 'a', '10', null];
const mixedCodes = json({
  service_status: { status: 0 },
  list: mixed.map((Code, n) => ({
    Code,
    Name: ['Zoo', 'äpfel', null, 'Apfel', 'Öl 10', 'Öl 9', ''][n],
  })),
});

test('codes are sorted by code or name, with numbers as numbers, and rows without one last', async () => {
  const { gateway } = share(mixedCodes);
  const field = (order: string) =>
    `${order}: glCodes(target: EMAIL, project: "north", orderBy: ${order}) { ... on GlCodeList { codes { code name } } }`;
  const { data } = await gateway.graphql(
    `{ ${field('CODE')} ${field('NAME')} ${field('SERVICE')} }`,
  );
  const of = (order: string, key: 'code' | 'name') =>
    data[order].codes.map((row: Record<string, string | null>) => row[key]);
  expect(of('CODE', 'code')).toEqual(['9', '10', '10', 'a', 'B', '', null]);
  expect(of('CODE', 'name').slice(1, 3)).toEqual(['äpfel', 'Öl 9']);
  expect(of('NAME', 'name')).toEqual(['Apfel', 'äpfel', 'Öl 9', 'Öl 10', 'Zoo', null, '']);
  expect(of('SERVICE', 'code')).toEqual(mixed);
});

test('blanks at the ends of a code or a name do not decide its place', async () => {
  const codes = ['2', ' 3', '\t1 ', ' '];
  const list = codes.map((Code) => ({ Code, Name: Code }));
  const { gateway } = share(json({ service_status: { status: 0 }, list }));
  for (const orderBy of ['CODE', 'NAME']) {
    const { data } = await gateway.graphql(
      `{ glCodes(target: EMAIL, project: "north", orderBy: ${orderBy}) { ... on GlCodeList { codes { code } } } }`,
    );
    const sorted = data.glCodes.codes.map(({ code }: { code: string }) => code);
    expect(sorted).toEqual(['\t1 ', '2', ' 3', ' ']);
  }
});

test('the first 1,000 characters of a name decide its place', async () => {
  const end = (text: string, length: number) => ({ Name: `${'x'.repeat(length)}${text}` });
  const list = [end('b', 1000), end('a', 1000), end('b', 999), end('a', 999)];
  const { gateway } = share(json({ service_status: { status: 0 }, list }));
  const { data } = await gateway.graphql(
    '{ glCodes(target: EMAIL, project: "north", orderBy: NAME) { ... on GlCodeList { codes { name } } } }',
  );
  const ends = data.glCodes.codes.map(({ name }: { name: string }) => name.slice(999));
  expect(ends).toEqual(['a', 'b', 'xb', 'xa']);
});

test('an id belongs to one row: a code that is empty, missing or listed twice has none', async () => {
  const { gateway } = share(mixedCodes);
  const query = '{ glCodes(target: EMAIL, project: "a/b") { ... on GlCodeList { codes { id } } } }';
  const { data } = await gateway.graphql(query);
  const ids = ['5/a%2Fb/B', null, '5/a%2Fb/9', null, '5/a%2Fb/a', null, null];
  expect(data.glCodes.codes).toEqual(ids.map((id) => ({ id })));
});

test('a text without letters and digits is searched as it is', async () => {
  const list = [{ Code: '1', Name: '25 %' }, { Code: '2-3' }, { Code: '4', Value: '–' }];
  const { gateway } = share(json({ service_status: { status: 0 }, list }));
  const found = async (search: string) =>
    (await gateway.graphql(page, { search })).data.glCodes.codes.map(
      ({ code }: { code: string }) => code,
    );
  expect(await found(' %')).toEqual(['1']);
  expect(await found('-')).toEqual(['2-3']);
  expect(await found('€')).toEqual([]);
  expect(await found(' ')).toEqual(['1', '2-3', '4']);
});
