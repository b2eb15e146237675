import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { buildSchema } from 'graphql';
import { operations } from '../src/upstream/operations.ts';
import {
  json,
  type Reply,
  read,
  reply,
  startService,
  startTestGateway,
  testIssuer,
  write,
  writes,
} from './helper.ts';

type Sample = { name: string; labels: Record<string, string>; value: number };

/** Reads the text format of Prometheus, as far as it is used. */
function readSamples(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name = '', labels = '', value = ''] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
      const pairs = labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g);
      return {
        name,
        labels: Object.fromEntries([...pairs].map(([, key = '', text = '']) => [key, text])),
        value: Number(value),
      };
    });
}

async function start(reaction: Reply, variables: Record<string, string> = {}) {
  const service = await startService(reaction);
  const gateway = await startTestGateway(service, variables);
  const scrape = async () => (await fetch(`${gateway.url}/metrics`)).text();
  return {
    service,
    gateway,
    scrape,
    /** The value of one sample; 0 where there is none yet. */
    async sampled(name: string, labels: Record<string, string> = {}) {
      const found = readSamples(await scrape()).filter(
        (sample) =>
          sample.name === name &&
          Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
      );
      return found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

const fine = json({ status: 0, unresolved: '', service_status: { status: 0 }, list: [] });

test('the metrics are text that Prometheus reads, for whoever reaches the port', async () => {
  const { gateway, scrape } = await start(fine);
  const { status, headers } = await fetch(`${gateway.url}/metrics`);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  for (const line of (await scrape()).split('\n').filter((line) => line !== '')) {
    expect(line).toMatch(
      /^(# (HELP|TYPE) \w+ .+|\w+(\{(\w+="([^"\\]|\\.)*",?)+\})? (NaN|Nan|[+-]Inf|[-+.\de]+))$/,
    );
  }
});

test.each([
  ['ledger_gateway_http_requests_total', 'counter'],
  ['ledger_gateway_operations_total', 'counter'],
  ['ledger_gateway_call_duration_seconds', 'histogram'],
  ['ledger_gateway_call_retries_total', 'counter'],
  ['ledger_gateway_calls_shared_total', 'counter'],
  ['ledger_gateway_token_verifications_total', 'counter'],
  ['ledger_gateway_circuit_state', 'gauge'],
  ['ledger_gateway_calls_in_flight', 'gauge'],
  ['ledger_gateway_calls_queued', 'gauge'],
  ['nodejs_eventloop_lag_p99_seconds', 'gauge'],
  ['nodejs_eventloop_lag_mean_seconds', 'gauge'],
  ['process_resident_memory_bytes', 'gauge'],
])('%s is a %s, and says what it is', async (name, type) => {
  const { scrape } = await start(fine);
  const text = await scrape();
  expect(text).toContain(`# TYPE ${name} ${type}\n`);
  expect(text).toMatch(new RegExp(`^# HELP ${name} \\w.+$`, 'm'));
});

test('each root field counts by what came of it', async () => {
  let reaction: Reply = fine;
  const { gateway, sampled } = await start((response, received) => reaction(response, received));
  const count = (operation: string, outcome: string) =>
    sampled('ledger_gateway_operations_total', { operation, outcome });

  await gateway.graphql(read);
  await gateway.graphql(
    `{ a: glCodes(target: EMAIL, project: "a") { __typename } b: glCodes(target: EMAIL, project: "b") { __typename } }`,
  );
  await gateway.graphql(write);
  reaction = json({ status: 3, service_status: { status: 3 } });
  await gateway.graphql(read);
  await gateway.graphql(write);
  reaction = reply(500);
  await gateway.graphql(read);
  await gateway.graphql(write);
  reaction = reply(403);
  await gateway.graphql(write);
  await gateway.graphql('mutation { uploadWorkflowCsv(input: { fileName: "a" }) { __typename } }');

  expect(await count('Query.glCodes', 'GlCodeList')).toBe(3);
  expect(await count('Query.glCodes', 'LedgerNotPermitted')).toBe(1);
  expect(await count('Query.glCodes', 'UPSTREAM_FAILED')).toBe(1);
  expect(await count('Mutation.workflowAction', 'WorkflowActionCompleted')).toBe(1);
  expect(await count('Mutation.workflowAction', 'LedgerNotPermitted')).toBe(1);
  expect(await count('Mutation.workflowAction', 'LedgerOutcomeUnknown')).toBe(1);
  expect(await count('Mutation.workflowAction', 'FORBIDDEN')).toBe(1);
  expect(await count('Mutation.uploadWorkflowCsv', 'BAD_USER_INPUT')).toBe(1);
});

test('each attempt at a call counts and is timed, by operation and outcome', async () => {
  let reaction: Reply = fine;
  const { gateway, sampled } = await start((response, received) => reaction(response, received));
  const calls = (operation: string, outcome: string) =>
    sampled('ledger_gateway_call_duration_seconds_count', { operation, outcome });

  for (const field of Object.values(writes)) await gateway.graphql(`mutation { a: ${field} }`);
  await gateway.graphql(read);
  for (const operation of Object.keys(operations))
    expect(await calls(operation, 'answered')).toBe(1);

  reaction = reply(503);
  await gateway.graphql(read);
  expect(await calls('getGLCodes5', 'UPSTREAM_FAILED')).toBe(3);
  expect(await sampled('ledger_gateway_call_retries_total', { operation: 'getGLCodes5' })).toBe(2);
  expect(
    await sampled('ledger_gateway_call_duration_seconds_bucket', {
      operation: 'getGLCodes5',
      outcome: 'UPSTREAM_FAILED',
      le: '+Inf',
    }),
  ).toBe(3);
  expect(await sampled('ledger_gateway_call_duration_seconds_sum')).toBeGreaterThan(0);
});

test('tokens count by what became of them', async () => {
  const { gateway, sampled } = await start(fine);
  const tokens = (outcome: string) =>
    sampled('ledger_gateway_token_verifications_total', { outcome });
  for (const _ of [1, 2, 3]) await gateway.graphql(read);
  await gateway.graphql(read, {}, { authorization: 'Bearer x' });
  const expired = await (await testIssuer()).token({ expiresIn: '-1h' });
  await gateway.graphql(read, {}, { authorization: `Bearer ${expired}` });
  expect(await tokens('verified')).toBe(1);
  expect(await tokens('remembered')).toBe(2);
  expect(await tokens('refused')).toBe(2);
});

test('requests count by their HTTP status', async () => {
  const { gateway, sampled } = await start(fine);
  const requests = (status: string) => sampled('ledger_gateway_http_requests_total', { status });
  await gateway.graphql(read);
  await gateway.graphql('{');
  await gateway.graphql(read, {}, { authorization: 'Bearer x' });
  await fetch(`${gateway.url}/nothing`);
  await gateway.logLine({ msg: 'request', status: 404 });
  expect(await requests('200')).toBeGreaterThanOrEqual(1);
  expect(await requests('400')).toBe(1);
  expect(await requests('401')).toBe(1);
  expect(await requests('404')).toBe(1);
});

test('calls in flight, those that wait and those that are shared can be watched', async () => {
  const held: (() => void)[] = [];
  const { gateway, sampled } = await start(
    (response, received) =>
      new Promise((resolve) => held.push(() => resolve(fine(response, received)))),
    { UPSTREAM_MAX_CONCURRENCY: '1' },
  );
  const until = async (name: string, value: number) => {
    while ((await sampled(name)) !== value);
  };

  const answers = [gateway.graphql(read)];
  await until('ledger_gateway_calls_in_flight', 1);
  answers.push(gateway.graphql(read));
  await until('ledger_gateway_calls_shared_total', 1);
  answers.push(gateway.graphql(read.replace('north', 'south')));
  await until('ledger_gateway_calls_queued', 1);

  let answered = false;
  const all = Promise.all(answers).finally(() => {
    answered = true;
  });
  while (!answered) {
    held.shift()?.();
    await Promise.race([all, fetch(`${gateway.url}/livez`)]);
  }
  expect((await all).map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(await sampled('ledger_gateway_calls_in_flight')).toBe(0);
  expect(await sampled('ledger_gateway_calls_queued')).toBe(0);
});

test('the circuit can be watched', async () => {
  const { gateway, sampled } = await start(reply(500));
  expect(await sampled('ledger_gateway_circuit_state')).toBe(0);
  for (let times = 0; times < 11; times++) await gateway.graphql(read);
  expect(await sampled('ledger_gateway_circuit_state')).toBeGreaterThan(0);
});

test('no label holds anything that a caller or the service wrote', async () => {
  const hostile = 'hostile_label';
  const { gateway, scrape } = await start(
    json({
      status: hostile,
      message: hostile,
      service_status: { status: 0, message: hostile },
      list: [{ Code: hostile }],
    }),
  );
  const headers = {
    'x-request-id': hostile,
    'user-agent': hostile,
    origin: `https://${hostile}.example`,
    'x-apollo-operation-name': hostile,
    'apollographql-client-name': hostile,
    traceparent: hostile,
  };
  await gateway.graphql(
    `query ${hostile} { ${hostile}: glCodes(target: EMAIL, project: "${hostile}") { __typename } }`,
    { [hostile]: hostile },
    headers,
  );
  await gateway.graphql(
    `mutation ${hostile} { ${hostile}: ${writes.saveApproverList} }`,
    {},
    headers,
  );
  await gateway.graphql(`{ ${hostile} }`, {}, headers);
  await gateway.graphql(
    `query ($of: [_Any!]!) { _entities(representations: $of) { __typename } }`,
    { of: [{ __typename: hostile }, { __typename: 'GlCode', target: hostile }] },
    headers,
  );
  await fetch(`${gateway.url}/${hostile}?${hostile}`, { method: 'PATCH', headers });
  await gateway.logLine({ msg: 'request', status: 404 });

  const text = await scrape();
  expect(text.toLowerCase()).not.toContain('hostile');

  const sdl = readFileSync(new URL('../schema.graphql', import.meta.url), 'utf8');
  const schema = buildSchema(
    sdl.replace(/^extend schema.*$/m, 'directive @key(fields: String!) on OBJECT'),
  );
  const fields = ['Query', 'Mutation'].flatMap((type) => {
    const found = schema.getType(type);
    return found && 'getFields' in found
      ? Object.keys(found.getFields()).map((field) => `${type}.${field}`)
      : [];
  });
  const known = new Set([
    ...Object.keys(operations),
    ...fields,
    'Query._entities',
    'Query._service',
  ]);
  const outcomes = new Set([
    ...Object.keys(schema.getTypeMap()),
    ...'answered ok verified remembered refused unavailable'.split(' '),
  ]);
  for (const { name, labels } of readSamples(text)) {
    if (!name.startsWith('ledger_gateway_')) continue;
    const { operation, outcome, status, le, ...others } = labels;
    expect(others).toEqual({});
    if (operation !== undefined) expect(known).toContain(operation);
    if (outcome !== undefined && !/^[A-Z_]+$/.test(outcome)) expect(outcomes).toContain(outcome);
    if (status !== undefined) expect(status).toMatch(/^[1-5]\d\d$/);
    if (le !== undefined) expect(le).toMatch(/^(\+Inf|[\d.]+)$/);
  }
});
