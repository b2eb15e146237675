import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { environmentFor } from '../../testkit/environment.ts';
import { startGatewayProcess } from '../../testkit/gateway-process.ts';
import { outcomeFields } from '../../testkit/graphql-operation.ts';
import { metric } from '../../testkit/metric.ts';
import { json, type Reply, reply, startService } from '../../testkit/service.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { placeholdersIn } from './placeholders.ts';

/*
 * A gateway with the operations of the example in CONTRIBUTING.md, which the commands there write. Every promise of
 * an operation must hold for these without anything else: a second list type, an integer above 2^53, and a write.
 */

const root = fileURLToPath(new URL('../..', import.meta.url));
const copied =
  'src dev testkit test/support packages/client/src schema.graphql package.json tsconfig.json codegen.yml examples/operations examples/federation docs/reference';

type Change = [file: string, from: string, to: string];

const addService: Change = [
  'src/upstream/declarations.ts',
  'export const services = {',
  "export const services = {\n  vendors: { probe: { operation: 'getVendors', search: '?project=&name=' } },",
];

/**
 * What else is changed by hand: a second version of an operation, a list in the response to the write, and a
 * workflow action with parameters.
 */
const changes: Change[] = [
  [
    'src/upstream/declarations.ts',
    "    path: 'getCostCenters',\n",
    `    path: 'getCostCenters',
    versions: {
      getCostCenters2: {
        response: listResponse(record({ cost_center_id: identifier, name: text, extra: text }), { next_page: optional(text) }),
        sample: '{"list":[{"cost_center_id":7,"name":"a","extra":"b"}],"next_page":null}',
      },
      getCostCenters3: {
        response: listResponse(record({ cost_center_id: identifier, name: text }), { next_page: optional(text) }),
        sample: '{"list":[{"cost_center_id":7,"name":"a"}],"next_page":null}',
      },
    },
`,
  ],
  [
    'src/upstream/declarations.ts',
    'blocked_rows: optional(int32)',
    'blocked_rows: optional(int32), rows: optional(list(int32))',
  ],
  [
    'schema.graphql',
    'type VendorBlocked implements LedgerStatus {',
    'type VendorBlocked implements LedgerStatus {\n"Blocked rows."\nrows: [Int!]',
  ],
  [
    'src/resolvers/block-vendor.ts',
    'blockedRows: status.blocked_rows ?? null',
    'blockedRows: status.blocked_rows ?? null, rows: status.rows ?? null',
  ],
  [
    'src/upstream/declarations.ts',
    '} as const satisfies Record<string, Declaration>;',
    `  remind: action(
    'remind',
    record({ new_text: text, new_amount: optional(decimal) }),
    '{"status":0}',
  ),
} as const satisfies Record<string, Declaration>;`,
  ],
  ['codegen.yml', 'WorkflowAction:\n', 'WorkflowAction:\n          REMIND: remind\n'],
  ['schema.graphql', 'enum WorkflowAction {', 'enum WorkflowAction {\n"Reminds."\nREMIND'],
  [
    'schema.graphql',
    'action: WorkflowAction!',
    'action: WorkflowAction!\n"A text."\nnewText: String\n"An amount."\nnewAmount: String\n',
  ],
];

/** Runs the commands of the example in a copy of the gateway, and returns its folder. */
async function followExample(): Promise<string> {
  const folder = await temporaryFolder();
  for (const path of copied.split(' ')) {
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'test/resolvers'), { recursive: true });
  change(folder, addService);
  const page = readFileSync(join(root, 'CONTRIBUTING.md'), 'utf8');
  const commands = [...page.matchAll(/^npm run new-operation -- (.*)$/gm)];
  expect(commands).toHaveLength(3);
  for (const [, options = ''] of commands) {
    // As a shell splits them.
    const args = [...options.matchAll(/'([^']*)'|(\S+)/g)].map(
      ([, quoted, word]) => quoted ?? word,
    );
    const ofService = ['--service', options.includes('Vendor') ? 'vendors' : 'ledger'];
    const given = args.filter((arg) => arg !== undefined);
    await run(folder, 'node', 'dev/new-operation.ts', ...given, ...ofService);
  }
  for (const one of changes) change(folder, one);
  await run(folder, 'graphql-codegen', '--config', 'codegen.yml');
  return folder;
}

function change(folder: string, [file, from, to]: Change): void {
  const path = join(folder, file);
  const text = readFileSync(path, 'utf8');
  if (!text.includes(from)) throw new Error(`${file} does not have: ${from}`);
  writeFileSync(
    path,
    text.replace(from, () => to),
  );
}

async function run(folder: string, tool: string, ...args: string[]): Promise<string> {
  const bin = join(root, 'node_modules/.bin');
  const env = { ...process.env, PATH: `${bin}:${process.env.PATH}`, NODE_OPTIONS: '' };
  return (await promisify(execFile)(tool, args, { cwd: folder, env })).stdout;
}

let folder: string;
let service: Awaited<ReturnType<typeof startService>>;
let gateway: Awaited<ReturnType<typeof startGatewayProcess>>;

beforeAll(async () => {
  folder = await followExample();
  service = await startService(saved);
  const variables = {
    UPSTREAM_VENDORS_BASE_URL: `${service.url}vendors`,
    UPSTREAM_VERSIONS: 'getCostCenters2',
  };
  gateway = await startGatewayProcess(service, variables, [], join(folder, 'src/main.ts'));
}, 600_000); // The commands run the code generator four times.

beforeEach(() => {
  service.received.length = 0;
});

/** Sends an operation to the gateway while the service has this reply. */
async function graphql(
  query: string,
  reply: Reply,
  headers: Record<string, string> = {},
  variables = {},
) {
  service.respondWith(reply);
  const authorization = `Bearer ${gateway.token}`;
  const response = await gateway.post({ query, variables }, { authorization, ...headers });
  return { ...response, ...JSON.parse(response.text) };
}

const arrivals = () => service.received.map(({ method, url, body }) => `${method} ${url} ${body}`);
const codesOf = ({ errors }: { errors: { extensions: { code: string } }[] }) =>
  errors.map(({ extensions }) => extensions.code);

const large = '9007199254740993';
const listOf = (count: number, name = 'a') =>
  json(
    `{"service_status":{"status":0,"invoice_id":${large}},"list":[${Array.from({ length: count }, () => `{"vendor_id":${large},"name":"${name}"}`).join(',')}]}`,
  );
const saved = json({ invoice_id: 7, message: 'saved', status: 0 });

const vendors = (selection = 'vendorId name', project = 'north') =>
  `vendors(project: "${project}", name: "a&b") { __typename ... on LedgerStatus { invoiceId message } ... on VendorList { vendors { ${selection} } } }`;
const block = `blockVendor(vendorId: "${large}", reason: "late") { ${outcomeFields} }`;
const write = `mutation { ${block} }`;
const aliases = (count: number, field: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => `a${n}: ${field(n)}`).join(' ');

test('the example has no fault of types, with the tests that the command wrote', async () => {
  expect(await run(folder, 'sh', '-c', 'tsc || true')).toBe('');
}, 600_000);

test.each([
  ['without a service', 'getOffices --item Office', '--service names a service'],
  ['with an unknown service', 'getOffices --item Office --service offices', 'vendors or ledger'],
  ['of a type of the schema', 'a --item Vendor --service ledger', 'schema.graphql has Vendor'],
  [
    'with a key and without its pages',
    'getOffices --item Office --key id --fields id:identifier --service ledger',
    '--pages is none, or',
  ],
  [
    'with pages whose parameter has another type than the field',
    'getOffices --item Office --key id --fields id:identifier --parameters page:text? --beside next:int32? --pages page:next --service ledger',
    '--pages is none, or',
  ],
  [
    'of a field and a type of an example',
    'getBudgets --item Budget --service ledger',
    'examples/federation/budgets.graphql has budgets and Budget.',
  ],
])('an operation %s is rejected before anything is written', async (_, options, problem) => {
  const command = run(folder, 'node', 'dev/new-operation.ts', ...options.split(' '));
  await expect(command).rejects.toMatchObject({ stderr: expect.stringContaining(problem) });
});

test('the pages of the reference have what the command wrote', () => {
  const rows = ['errors', 'schema', 'service-api'].flatMap((page) =>
    readFileSync(join(folder, `docs/reference/${page}.md`), 'utf8').split('\n'),
  );
  expect(rows).toEqual(
    expect.arrayContaining([
      '| `VendorBlocked` | 0 | The outcome of `blockVendor`. | `blockedRows` |',
      '| `VendorList` | 0 | The outcome of `getVendors`. | `vendors`, `total` |',
      '| `Mutation.blockVendor` | sends `blockVendor` | `BlockVendorResult` |',
      '| `Query.vendors` | sends `getVendors` | `VendorsResult` |',
      '| `BlockVendorResult` | `VendorBlocked`, the same four, and `LedgerOutcomeUnknown` |',
      '| `VendorsResult` | `VendorList` and the same four |',
      expect.stringMatching(/^\| `WriteOutcome` \| .*`VendorBlocked`, /),
      expect.stringMatching(
        /^`GET \/getVendors` of the service `vendors`\. .* and beside it `total` \(int32, optional\)\.$/,
      ),
    ]),
  );
});

test('each text of the command that stands for a description is known to the test that finds those left', () => {
  const texts = placeholdersIn(folder);
  expect(texts).toEqual(
    expect.arrayContaining([
      'schema.graphql: "Sends `blockVendor`."',
      'schema.graphql: "The outcome of `getVendors` with status 0, OK."',
      'schema.graphql: "An item of `getVendors`."',
      'schema.graphql: "An item of a list in `blockVendor`."',
      'docs/reference/errors.md: | The outcome of `blockVendor`. |',
      'docs/reference/schema.md: | sends `getVendors` |',
      'docs/reference/service-api.md: `GET /getVendors` of the service `vendors`. Parameters: ',
      'docs/reference/service-api.md: `GET /getCostCenters`. Parameters: ',
    ]),
  );
});

test('the schema of the policy file has what the command wrote', () => {
  const schema = readFileSync(join(folder, 'docs/reference/policy.schema.json'), 'utf8');
  expect(
    ['blockVendor', 'vendors', 'costCenters'].filter((name) => !schema.includes(`"${name}"`)),
  ).toEqual([]);
});

test('a read is sent with its parameters, and its integers are exact', async () => {
  const { status, data } = await graphql(read, listOf(2));
  const vendor = { vendorId: large, name: 'a' };
  const list = { __typename: 'VendorList', invoiceId: large, message: null };
  expect([status, data.vendors]).toEqual([200, { ...list, vendors: [vendor, vendor] }]);
  expect(arrivals()).toEqual(['GET /vendors/getVendors?project=north&name=a%26b ']);
});

test('a field beside a list, and one beside a status record, reach the client', async () => {
  const list = json('{"service_status":{"status":0},"total":3,"list":[]}');
  const total = `{ ${vendors().replace('vendors {', 'total vendors {')} }`;
  expect((await graphql(total, list)).data.vendors).toMatchObject({ total: 3, vendors: [] });
  const rows = write.replace('late") {', 'late") { ... on VendorBlocked { blockedRows }');
  const { data } = await graphql(rows, json({ status: 0, blocked_rows: 2 }));
  expect(data.blockVendor).toMatchObject({ __typename: 'VendorBlocked', blockedRows: 2 });
});

test('a decimal has the digits of the service, and a text in its place is a fault', async () => {
  const response = (amount: string) =>
    json(`{"service_status":{"status":0},"list":[{"amount":${amount}}]}`);
  const { data } = await graphql(`{ ${vendors('amount')} }`, response('10.50'));
  expect(data.vendors.vendors).toEqual([{ amount: '10.50' }]);
  const result = await graphql(`{ ${vendors('amount')} }`, response('{"a":1}'));
  expect(codesOf(result)).toEqual(['UPSTREAM_INVALID_RESPONSE']);
});

test('a reference to an item with a key is found in the list, and one without a required parameter is a fault', async () => {
  const found = `{ __typename: "CostCenter", company: "a&b", costCenterId: "${large}" }`;
  const item = `{"cost_center_id":${large},"name":"a","extra":"b"}`;
  const references = `[${found}, { __typename: "CostCenter", costCenterId: "7" }]`;
  const result = await graphql(
    `{ _entities(representations: ${references}) { ... on CostCenter { company name } } }`,
    json(`{"service_status":{"status":0},"list":[${item}]}`),
  );
  expect(result.data._entities).toEqual([{ company: 'a&b', name: 'a' }, null]);
  expect(codesOf(result)).toEqual(['BAD_USER_INPUT']);
  expect(arrivals()).toEqual(['GET /getCostCenters2?company=a%26b ']);
});

test('a reference to an item of a list with pages is found in each of them', async () => {
  const pageOf = (id: number, next: string | null) => {
    const list = [{ cost_center_id: id, name: 'a', extra: 'b' }];
    return json({ service_status: { status: 0 }, list, next_page: next });
  };
  const list: Reply = (response, received) =>
    (received.url.includes('page=') ? pageOf(8, null) : pageOf(7, 'b'))(response, received);
  const representations = ['7', '8', '9'].map(
    (id) => `{ __typename: "CostCenter", company: "a", costCenterId: "${id}" }`,
  );
  const { data } = await graphql(
    `{ _entities(representations: [${representations}]) { ... on CostCenter { costCenterId } } }`,
    list,
  );
  expect(data._entities).toEqual([{ costCenterId: '7' }, { costCenterId: '8' }, null]);
  expect(arrivals()).toEqual([
    'GET /getCostCenters2?company=a ',
    'GET /getCostCenters2?company=a&page=b ',
  ]);
});

test('the selected version is called, and its response is checked by its own declaration', async () => {
  const first = json('{"service_status":{"status":0},"list":[{"cost_center_id":7,"name":"a"}]}');
  const result = await graphql('{ costCenters(company: "a") { __typename } }', first);
  expect(codesOf(result)).toEqual(['UPSTREAM_INVALID_RESPONSE']);
  expect(arrivals()).toEqual(['GET /getCostCenters2?company=a ']);
});

test('two versions of one operation are a fault of the configuration that names both', async () => {
  const both = { UPSTREAM_VERSIONS: 'getCostCenters3,getCostCenters2' };
  const env = { ...(await environmentFor(service, both)), PATH: process.env.PATH };
  const check = promisify(execFile)('node', [join(folder, 'src/main.ts'), '--check-config'], {
    env,
  });
  await expect(check).rejects.toMatchObject({
    code: 1,
    stderr: expect.stringContaining(
      'UPSTREAM_VERSIONS must select one version of an operation, not getCostCenters2 and getCostCenters3\n',
    ),
  });
});

test('a list in a body is sent with the digits of its decimals, and its texts are checked', async () => {
  const withLine = (amount: string) =>
    write.replace('reason:', `lines: [{ lineId: 8, amount: "${amount}" }], reason:`);
  expect(codesOf(await graphql(withLine('x'), saved))).toEqual(['BAD_USER_INPUT']);
  const { data } = await graphql(withLine('10.50'), saved);
  expect(data.blockVendor).toMatchObject({ __typename: 'VendorBlocked' });
  const lines = '[{"line_id":8,"amount":10.50}]';
  expect(arrivals()).toEqual([
    `POST /vendors/blockVendor {"vendor_id":${large},"reason":"late","lines":${lines}}`,
  ]);
});

test('a text in place of a decimal is rejected before anything is sent', async () => {
  const limit = (text: string) => `{ costCenters(company: "a", limit: "${text}") { __typename } }`;
  expect(codesOf(await graphql(limit('007'), listOf(0)))).toEqual(['BAD_USER_INPUT']);
  await graphql(limit('10.50'), listOf(0));
  expect(arrivals()).toEqual(['GET /getCostCenters2?company=a&limit=10.50 ']);
});

const actionOf = (args: string) => {
  const variable = args.includes('$text') ? '($text: String)' : '';
  return `mutation ${variable} { workflowAction(action: ${args}) { __typename } }`;
};

test.each<[args: string, path: string, problem: string]>([
  ['REMIND', 'newText', 'is required for this action'],
  ['REMIND, newText: null', 'newText', 'is required for this action'],
  ['REMIND, newText: $text', 'newText', 'is not well-formed Unicode text'],
  ['REMIND, newText: "a", newAmount: "x"', 'newAmount', 'is not a decimal number, such as 10.50'],
  ['RESTART, newText: "a"', 'newText', 'is not an argument of this action'],
])('workflowAction(action: %s) names %s, and is not sent', async (args, path, problem) => {
  const { errors } = await graphql(actionOf(args), saved, {}, { text: '\ud800' });
  const faults = expect.arrayContaining([{ path: [path], message: `"${path}" ${problem}.` }]);
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', faults } }]);
  expect(arrivals()).toEqual([]);
});

test('the parameters of an action are sent as declared, also by the tests of every operation', async () => {
  await graphql(actionOf('REMIND, newAmount: "10.50", newText: "a&b"'), saved);
  const print = `import { actionUrl, writes } from './testkit/graphql-operation.ts';
    console.log(JSON.stringify([writes.remind, actionUrl('remind')]));`;
  const derived = await run(folder, 'node', '--input-type=module', '--eval', print);
  const [field, url] = JSON.parse(derived);
  await graphql(`mutation { ${field} }`, saved);
  expect(arrivals()).toEqual(['GET /remind?new_text=a%26b&new_amount=10.50 ', `GET ${url} `]);
  expect(url).toBe('/remind?new_text=7');
});

test('a read is tried again, and equal ones in a request are one call', async () => {
  const replies = [reply(503, '', { 'retry-after': '0' }), listOf(1)];
  const next: Reply = (...exchange) => replies[service.received.length - 1]?.(...exchange);
  const { data } = await graphql(`{ ${aliases(3, () => vendors())} }`, next);
  expect(Object.keys(data)).toHaveLength(3);
  expect(service.received).toHaveLength(2);
});

test('a list that is too long to be executed without compiling is read once', async () => {
  const { data } = await graphql(read, listOf(30_000));
  expect(data.vendors.vendors).toHaveLength(30_000);
  expect(arrivals()).toHaveLength(1);
});

const read = `{ ${vendors()} }`;
const unknown = 'LedgerOutcomeUnknown';
const redirect = reply(307, '', { location: '/elsewhere' });

test.each<[what: string, query: string, Reply, member: string]>([
  ['a read with status 1', read, json({ service_status: { status: 1 } }), 'LedgerFailed'],
  ['a read with status 3', read, json({ service_status: { status: 3 } }), 'LedgerNotPermitted'],
  ['a write with HTTP 503', write, reply(503, '', { 'retry-after': '0' }), unknown],
  ['a write that is redirected', write, redirect, unknown],
  ['a write that is reset', write, ({ socket }) => void socket?.resetAndDestroy(), unknown],
  ['a write without a status record', write, json([]), unknown],
])('%s is a union member, and is not sent again', async (_, query, reaction, member) => {
  const { data } = await graphql(query, reaction);
  expect(Object.values(data)).toMatchObject([{ __typename: member }]);
  expect(arrivals()).toHaveLength(1);
});

test('a fault in an item of the list fails the read with its path in the log', async () => {
  const invalid = json({ service_status: { status: 0 }, list: [{ vendor_id: 'x' }] });
  const result = await graphql(read, invalid);
  expect(codesOf(result)).toEqual(['UPSTREAM_INVALID_RESPONSE']);
  const fault = 'list[0].vendor_id: expected integer, got string, 58 bytes';
  await gateway.logLine({ msg: 'call', operation: 'getVendors', fault });
});

/** 201 different lists, with few tokens each. */
const lists = [
  aliases(199, (n) => `vendors(project: "p${n}", name: "a") { __typename }`),
  'vendors(project: "a", name: "a") { __typename }',
  'other: glCodes(target: EMAIL, project: "a") { __typename }',
].join(' ');

test.each<[what: string, query: string, Reply, calls: number]>([
  ['fields of list items', `{ ${vendors(aliases(6, () => 'name'))} }`, listOf(100_000), 1],
  ['fields of lists under aliases', `{ ${aliases(6, () => vendors())} }`, listOf(50_000), 1],
  ['texts', `{ ${vendors(aliases(20, () => 'name'))} }`, listOf(1_000, 'x'.repeat(2_000)), 1],
  ['different lists', `{ ${lists} }`, listOf(0), 0],
  ['writes', `mutation { ${aliases(6, () => block)} }`, saved, 0],
])('the limit of %s applies', async (_, query, response, calls) => {
  const result = await graphql(query, response);
  expect(result.status).toBe(400);
  expect(new Set(codesOf(result))).toEqual(new Set(['OPERATION_LIMIT_EXCEEDED']));
  expect(arrivals()).toHaveLength(calls);
});

test.each([
  ['vendors', `{ ${vendors('name', 'x'.repeat(1025))} }`, ['project']],
  ['blockVendor', `mutation { ${block.replace(large, '1e3')} }`, ['vendorId']],
  ['blockVendor', `mutation { ${block.replace('late', 'x'.repeat(1001))} }`, ['reason']],
])('an invalid argument of %s is rejected before anything is sent', async (_, query, path) => {
  const { errors } = await graphql(query, saved);
  expect(errors[0].extensions).toMatchObject({ code: 'BAD_USER_INPUT', faults: [{ path }] });
  expect(arrivals()).toEqual([]);
});

test('a write is sent once with its exact integer, and counted and logged by its names', async () => {
  const counted = { operation: 'Mutation.blockVendor', outcome: 'VendorBlocked' };
  const count = () => metric(gateway, 'ledger_gateway_operations_total', counted);
  const before = await count();

  const { data } = await graphql(write, saved, { 'x-request-id': 'tenth-write' });

  const blocked = { __typename: 'VendorBlocked', invoiceId: '7', message: 'saved' };
  expect(data.blockVendor).toEqual(blocked);
  expect(arrivals()).toEqual([`POST /vendors/blockVendor {"vendor_id":${large},"reason":"late"}`]);
  expect(await count()).toBe(before + 1);
  const calls = 'ledger_gateway_call_duration_seconds_count';
  expect(await metric(gateway, calls, { operation: 'blockVendor' })).toBeGreaterThan(0);
  const inFlight = 'ledger_gateway_calls_in_flight';
  expect(await metric(gateway, inFlight, { service: 'vendors' })).toBe(0);
  const requestId = 'tenth-write';
  await gateway.logLine({ msg: 'call', operation: 'blockVendor', requestId, outcome: 'answered' });
});

test('a write with a key is executed once, and settled with its outcome', async () => {
  const key = { 'idempotency-key': 'tenth', 'idempotency-key-age': '0' };
  const first = await graphql(write, saved, key);
  const second = await graphql(write, saved, key);
  const other = await graphql(write.replace('late', 'early'), saved, key);
  const settled = await graphql(
    `mutation { settleWrites(idempotencyKey: "tenth", ageMs: 0) { writes { responseName outcome { ${outcomeFields} } } } }`,
    saved,
  );

  expect(second.data).toEqual(first.data);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect(codesOf(other)).toEqual(['IDEMPOTENCY_KEY_REUSED']);
  expect(settled.data.settleWrites).toEqual({
    writes: [{ responseName: 'blockVendor', outcome: first.data.blockVendor }],
  });
  expect(service.received).toHaveLength(1);
});

test('a list in the response to a write reaches the client as far as the limits allow, and its record is short', async () => {
  const key = () => ({ 'idempotency-key': crypto.randomUUID(), 'idempotency-key-age': '0' });
  const send = async (rows: number, headers: Record<string, string>) => {
    const response = json({ status: 0, rows: Array(rows).fill(123_456) });
    const selection = '... on VendorBlocked { rows }';
    const query = write.replace('reason: "late") {', `reason: "late") { ${selection}`);
    const { data } = await graphql(query, response, headers);
    return data.blockVendor.rows.length;
  };
  const bytes = () => metric(gateway, 'ledger_gateway_idempotency_bytes');
  const before = await bytes();
  const [long, longest] = [key(), key()];
  const short = Math.floor(10_000 / '123456,'.length);
  // A replay has as much as is recorded.
  expect([await send(10_000, long), await send(10_000, long)]).toEqual([10_000, short]);
  expect([await send(1_000_000, longest), await send(1_000_000, longest)]).toEqual([short, short]);
  expect(service.received).toHaveLength(2);
  expect((await bytes()) - before).toBeLessThan(50_000);
});
