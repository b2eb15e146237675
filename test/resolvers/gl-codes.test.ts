import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { metric } from '../support/metric.ts';
import { problemOfStatus } from '../support/outcome.ts';
import { json, startService } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const share = shareGateway();

const query = `query ($target: IntegrationTarget! = EMAIL, $project: String! = "north", $includeHide: Boolean! = false) {
  glCodes(target: $target, project: $project, includeHide: $includeHide) {
    __typename
    ... on LedgerStatus { invoiceId message }
    ... on GlCodeList { codes { target project code name value hide } }
    ... on LedgerUnrecognizedStatus { status }
  }
}`;

test('sends a GET with the three parameters, the unchanged token, and no body', async () => {
  const { service, gateway } = share(json({ service_status: { status: 0 }, list: [] }));

  await gateway.graphql(query, { project: 'a & b=c/ü' }, { 'x-request-id': 'request-1' });

  expect(service.received).toEqual([
    expect.objectContaining({
      method: 'GET',
      url: '/getGLCodes5?target=5&project=a+%26+b%3Dc%2F%C3%BC&includeHide=false',
      body: '',
      headers: expect.objectContaining({
        authorization: `Bearer ${gateway.token}`,
        'x-request-id': 'request-1',
      }),
    }),
  ]);
});

test('status 0 is a list of codes with their target and project', async () => {
  const { gateway } = share(
    json({
      service_status: { invoice_id: 7, message: 'fine', status: 0 },
      list: [{ Code: '4010', Name: 'Travel', Value: 'T', Hide: 1 }, {}],
    }),
  );

  const { data, errors } = await gateway.graphql(query, { includeHide: true });

  expect(errors).toBeUndefined();
  const requested = { target: 'EMAIL', project: 'north' };
  expect(data.glCodes).toEqual({
    __typename: 'GlCodeList',
    invoiceId: '7',
    message: 'fine',
    codes: [
      { ...requested, code: '4010', name: 'Travel', value: 'T', hide: 1 },
      { ...requested, code: null, name: null, value: null, hide: null },
    ],
  });
});

test('a GET has no headers of a body', async () => {
  const { service, gateway } = share(json({ service_status: { status: 0 } }));

  await gateway.graphql(query);

  const names = Object.keys(service.received[0]?.headers ?? {});
  expect(names).not.toContain('content-type');
  expect(names).not.toContain('content-length');
  expect(names).not.toContain('transfer-encoding');
});

/** The targets that have a label in docs/service-api.md, section 2.7. Every other one is a named external system. */
const labels: Record<number, string> = {
  4: 'FILE_TRANSFER',
  5: 'EMAIL',
  6: 'GATEWAY',
  10: 'CUSTOM_WORKFLOW',
  22: 'ELECTRONIC_INVOICE',
  36: 'SAVE_AND_SEARCH',
  4001: 'STORAGE_DEVICE',
  [-1]: 'UNKNOWN',
};
// biome-ignore format: the list reads as in docs/service-api.md
const targets = [
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 20, 21, 22, 23, 24, 26, 27, 33, 34, 35, 36, 37, 38, 39,
  40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 4001, -1,
];

test('each of the 41 targets is sent as its integer and returned by its name', async () => {
  const { service, gateway } = share(json({ service_status: { status: 0 }, list: [{}] }));

  for (const target of targets) {
    const name = labels[target] ?? `TARGET_${target}`;
    const { data, errors } = await gateway.graphql(query, { target: name });
    expect(errors).toBeUndefined();
    expect(data.glCodes.codes).toEqual([expect.objectContaining({ target: name })]);
  }

  expect(
    service.received.map(({ url }) => new URL(url, service.url).searchParams.get('target')),
  ).toEqual(targets.map(String));
  expect(targets).toHaveLength(41);
});

test.each([true, false])('includeHide %s is sent unchanged', async (includeHide) => {
  const { service, gateway } = share(json({ service_status: { status: 0 } }));

  await gateway.graphql(query, { includeHide });

  expect(service.received[0]?.url).toBe(
    `/getGLCodes5?target=5&project=north&includeHide=${includeHide}`,
  );
});

test.each([
  ['that is empty', '', ''],
  ['with a space and a plus', 'a b+c', 'a+b%2Bc'],
  ['with reserved characters of URLs', '?&=#/../%41', '%3F%26%3D%23%2F..%2F%2541'],
  ['beyond ASCII', 'Zürich 東京 🏭', 'Z%C3%BCrich+%E6%9D%B1%E4%BA%AC+%F0%9F%8F%AD'],
])('a project name %s is sent and returned unchanged', async (_, project, encoded) => {
  const { service, gateway } = share(json({ service_status: { status: 0 }, list: [{}] }));

  const { data } = await gateway.graphql(query, { project });

  expect(service.received[0]?.url).toBe(
    `/getGLCodes5?target=5&project=${encoded}&includeHide=false`,
  );
  expect(data.glCodes.codes[0].project).toBe(project);
});

test('the path of the base URL is kept', async () => {
  const service = await startService(json({ service_status: { status: 0 } }));
  const gateway = await startTestGateway({ url: `${service.url}api/v1` });

  await gateway.graphql(query);

  expect(service.received[0]?.url).toMatch(/^\/api\/v1\/getGLCodes5\?/);
});

test.each([
  ...problemOfStatus,
  ['9007199254740993', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ['true', { __typename: 'LedgerUnrecognizedStatus', status: null }],
])('status %s is mapped to its outcome', async (status, expected) => {
  const { gateway } = share(
    json(
      `{ "service_status": { "invoice_id": 12, "message": "why", "status": ${status} }, "list": [] }`,
    ),
  );

  const { data, errors } = await gateway.graphql(query);

  expect(errors).toBeUndefined();
  expect(data.glCodes).toEqual({ ...expected, invoiceId: '12', message: 'why' });
});

test.each([
  ['without a status', { service_status: { invoice_id: 12, message: 'why' } }, '12', 'why'],
  ['without a status record', { list: [{ Code: '1' }] }, null, null],
  ['with a null status record', { service_status: null, list: [] }, null, null],
  ['that is empty', {}, null, null],
])('a response %s is an unrecognized status', async (_, body, invoiceId, message) => {
  const { gateway } = share(json(body));

  const { data, errors } = await gateway.graphql(query);

  expect(errors).toBeUndefined();
  expect(data.glCodes).toEqual({
    __typename: 'LedgerUnrecognizedStatus',
    status: null,
    invoiceId,
    message,
  });
});

test.each([
  ['missing', {}],
  ['null', { list: null }],
  ['empty', { list: [] }],
])('with status 0, a %s list is an empty one', async (_, rest) => {
  const { gateway } = share(json({ service_status: { status: 0 }, ...rest }));

  const { data } = await gateway.graphql(query);

  expect(data.glCodes).toEqual({
    __typename: 'GlCodeList',
    codes: [],
    invoiceId: null,
    message: null,
  });
});

test.each([
  'application/json',
  'application/json; charset=utf-8',
  'text/json',
  'text/plain',
  'text/plain; charset=utf-8',
  'text/html',
  undefined,
])('the body of a response with content type %s is read', async (contentType) => {
  const { gateway } = share((response) => {
    if (contentType) response.setHeader('content-type', contentType);
    response.end('{"service_status":{"status":0},"list":[{"Name":"Zürich 東京"}]}');
  });

  const { data } = await gateway.graphql(query);

  expect(data.glCodes.codes).toEqual([expect.objectContaining({ name: 'Zürich 東京' })]);
});

test('accepts the three content types of the service', async () => {
  const { service, gateway } = share(json({ service_status: { status: 0 } }));

  await gateway.graphql(query);

  const accepted = service.received[0]?.headers.accept ?? '';
  for (const type of ['application/json', 'text/json', 'text/plain'])
    expect(accepted).toContain(type);
});

test.each([
  '0',
  '-1',
  '9007199254740991',
  '9007199254740992',
  '9007199254740993',
  '-9007199254740993',
  '9223372036854775807',
  '-9223372036854775808',
  '123456789012345678901234567890',
])('an invoice_id of %s is returned exactly', async (invoiceId) => {
  const { gateway } = share(
    json(`{"service_status":{"invoice_id":${invoiceId},"status":0},"list":[]}`),
  );

  const { data } = await gateway.graphql(query);

  expect(data.glCodes.invoiceId).toBe(invoiceId);
});

test('digits inside text are unchanged', async () => {
  const message = 'see ,9007199254740993 and [9223372036854775807]';
  const { gateway } = share(
    json({ service_status: { message, status: 0 }, list: [{ Value: '9007199254740993' }] }),
  );

  const { data } = await gateway.graphql(query);

  expect(data.glCodes.message).toBe(message);
  expect(data.glCodes.codes[0].value).toBe('9007199254740993');
});

test('fields that are not documented are ignored', async () => {
  const { gateway } = share(
    json({ service_status: { status: 0, extra: 1 }, list: [{ Code: '1', Extra: [] }], more: {} }),
  );

  const { data, errors } = await gateway.graphql(query);

  expect(errors).toBeUndefined();
  expect(data.glCodes.codes).toEqual([expect.objectContaining({ code: '1' })]);
});

const page = `query ($only: [String!], $search: String, $skip: Int! = 0, $first: Int) {
  glCodes(target: EMAIL, project: "north", only: $only, search: $search, skip: $skip, first: $first) {
    ... on GlCodeList { totalCount codes { target project code name value hide } }
  }
}`;

const list = Array.from({ length: 50_000 }, (_, n) => ({
  Code: `C${n}`,
  Name: `Ledger code ${n}`,
  Value: `value ${n}`,
  Hide: 0,
}));
const manyCodes = json(JSON.stringify({ service_status: { status: 0 }, list }));

test('a page of 20 of 50,000 codes is less than 5 KB, from one call', async () => {
  const { service, gateway } = share(manyCodes);
  const variables = { search: 'LEDGER CODE 499', skip: 20, first: 20 };

  const { data, text, errors } = await gateway.graphql(page, variables);

  expect(errors).toBeUndefined();
  expect(data.glCodes.totalCount).toBe(111); // 499, 4990 to 4999, 49900 to 49999.
  expect(data.glCodes.codes.map(({ code }: { code: string }) => code)).toEqual(
    Array.from({ length: 20 }, (_, n) => `C${49_909 + n}`),
  );
  expect(text.length).toBeLessThan(5000);
  expect(service.received).toHaveLength(1);
});

test('the fields of a query that is executed a second time, because a list is long, are counted once', async () => {
  const { gateway } = share(manyCodes);
  const counted = () =>
    metric(gateway, 'ledger_gateway_operations_total', { operation: 'Query.glCodes' });
  const before = await counted();
  const field = 'glCodes(target: EMAIL, project: "twice"';
  const codes = '... on GlCodeList { codes { code name } }';

  const { errors } = await gateway.graphql(
    `{ page: ${field}, first: 1) { ${codes} } all: ${field}) { ${codes} } }`,
  );

  expect(errors).toBeUndefined();
  expect((await counted()) - before).toBe(2);
});

test('fields that differ only in what they keep share one call', async () => {
  const { service, gateway } = share(manyCodes);
  const field = (alias: string, args: string, fields = 'codes { code }') =>
    `${alias}: glCodes(target: EMAIL, project: "north"${args}) { ... on GlCodeList { totalCount ${fields} } }`;

  const { data, errors } = await gateway.graphql(`{
    ${field('none', ', only: []')}
    ${field('only', ', only: ["C3", "C1", "C3", "x"]')}
    ${field('end', ', skip: 49999, first: 2147483647')}
    ${field('beyond', ', skip: 2147483647')}
    ${field('count', ', search: "code 1"', '')}
    ${field('zero', ', first: 0')}
  }`);

  const code = (...codes: string[]) => codes.map((code) => ({ code }));
  expect(data).toEqual({
    none: { totalCount: 0, codes: [] },
    only: { totalCount: 2, codes: code('C1', 'C3') },
    end: { totalCount: 50_000, codes: code('C49999') },
    beyond: { totalCount: 50_000, codes: [] },
    count: { totalCount: 11_111 },
    zero: { totalCount: 50_000, codes: [] },
  });
  expect(errors).toBeUndefined();
  expect(service.received).toHaveLength(1);
});

test.each([
  ['', ['OPERATION_LIMIT_EXCEEDED']],
  [', skip: 10000', undefined],
])('the limit of fields counts what is returned: %j', async (args, expected) => {
  const { gateway } = share(manyCodes);
  const names = Array.from({ length: 11 }, (_, n) => `a${n}: code`).join(' ');
  const { errors } = await gateway.graphql(
    `{ glCodes(target: EMAIL, project: "north"${args}) { ... on GlCodeList { codes { ${names} } } } }`,
  );
  expect(errors?.map(({ extensions }) => extensions.code)).toEqual(expected);
});

test('searches of more than 16 times the largest response are rejected', async () => {
  const service = await startService(manyCodes);
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_RESPONSE_BYTES: '4000000' });
  const fields = Array.from(
    { length: 20 },
    (_, n) => `a${n}: glCodes(target: EMAIL, project: "north", search: "x") { __typename }`,
  );

  const { data, errors } = await gateway.graphql(`{ ${fields.join(' ')} }`);

  expect(Object.values(data).filter(Boolean)).not.toHaveLength(0);
  expect(errors?.map(({ message }) => message)).toContain(
    'The operation searches too much. Request fewer lists with `only` or `search` at a time.',
  );
});
