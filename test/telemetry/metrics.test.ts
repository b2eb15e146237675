import performanceHooks from 'node:perf_hooks';
import { expect, jest, test } from '@jest/globals';
import { operations } from '../../src/upstream/declarations.ts';
import { version } from '../../src/version.ts';
import { read, write, writes } from '../../testkit/graphql-operation.ts';
import { testIssuer } from '../../testkit/issuer.ts';
import { metric, metricIs, parseSamples, sumOf } from '../../testkit/metric.ts';
import { json, type Reply, reply, success } from '../../testkit/service.ts';
import { startStack } from '../support/stack.ts';

async function start(serviceReply: Reply = success, variables: Record<string, string> = {}) {
  const { gateway, respondWith } = await startStack(serviceReply, variables);
  return {
    gateway,
    scrape: async () => (await fetch(`${gateway.url}/metrics`)).text(),
    /** The value of a metric with these labels. */
    sample: (name: string, labels?: Record<string, string>) => metric(gateway, name, labels),
    respondWith,
  };
}

test('the metrics are in Prometheus text format with descriptions, name the build, and need no token', async () => {
  const { gateway, scrape, sample } = await start(success, { GIT_COMMIT: 'abc123' });
  const { status, headers } = await fetch(`${gateway.url}/metrics`);
  expect(status).toBe(200);
  expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  const text = await scrape();
  const names = [...text.matchAll(/^# TYPE (\w+) (?:counter|gauge|histogram|summary)$/gm)];
  expect(names.length).toBeGreaterThan(40);
  for (const [, name] of names) expect(text).toMatch(new RegExp(`^# HELP ${name} \\w.+$`, 'm'));
  expect(await sample('ledger_gateway_build_info', { version, commit: 'abc123' })).toBe(1);
});

test('the observers of the process, which never stop, are not started again by each gateway', async () => {
  const started = jest.spyOn(performanceHooks, 'monitorEventLoopDelay');
  for (const { scrape } of [await start(), await start()]) {
    expect(await scrape()).toMatch(/^nodejs_eventloop_lag_max_seconds \d/m);
  }
  expect(started).not.toHaveBeenCalled();
});

test('the counters whose first step alerts start at 0', async () => {
  const { scrape } = await start();
  const fields = Object.values(operations).map(({ graphql: operation }) => operation);
  const samples = [
    ...fields.map((operation) => ['operations', { operation, outcome: 'INTERNAL_SERVER_ERROR' }]),
    ['http_requests', { status: '500' }],
    ['token_verifications', { outcome: 'unavailable' }],
  ].map(([name, labels]) => ({ name: `ledger_gateway_${name}_total`, labels, value: 0 }));
  expect(parseSamples(await scrape())).toEqual(expect.arrayContaining(samples));
});

const twoLists =
  '{ a: glCodes(target: EMAIL, project: "a") { __typename } b: glCodes(target: EMAIL, project: "b") { __typename } }';
const invalidUpload = 'uploadWorkflowCsv(input: { fileName: "a" }) { __typename }';

test('root fields are counted by outcome, and their requests timed as clients see them', async () => {
  const refusal = json({ status: 3, service_status: { status: 3 } });
  const mutation = `mutation { a: ${writes.restartWorkflow2} b: ${invalidUpload} }`;
  const responses: [Reply, queries: string[]][] = [
    [success, [read, twoLists, mutation, '{ unknown }', '{ __typename }']],
    [refusal, [read, write]],
    [reply(500), [read, write]],
    [reply(403), [write]],
  ];
  const { gateway, sample, respondWith } = await start();
  for (const [next, queries] of responses) {
    respondWith(next);
    for (const query of queries) await gateway.graphql(query);
  }
  await gateway.graphql(read, {}, { authorization: 'Bearer x' });
  await fetch(`${gateway.url}/nothing`);
  const requests = 'ledger_gateway_http_requests_total';
  await metricIs(gateway, requests, 9, { status: '200' });
  for (const status of ['400', '401', '404']) await metricIs(gateway, requests, 1, { status });

  for (const [operation, outcome, fields, timed] of [
    ['Query.glCodes', 'GlCodeList', 3, 2],
    ['Query.glCodes', 'LedgerNotPermitted', 1, 1],
    ['Query.glCodes', 'UPSTREAM_FAILED', 1, 1],
    ['Mutation.workflowAction', 'WorkflowActionCompleted', 1, 1],
    ['Mutation.workflowAction', 'LedgerNotPermitted', 1, 1],
    ['Mutation.workflowAction', 'LedgerOutcomeUnknown', 1, 1],
    ['Mutation.workflowAction', 'FORBIDDEN', 1, 1],
    ['Mutation.uploadWorkflowCsv', 'BAD_USER_INPUT', 1, 1],
    ['none', 'GRAPHQL_VALIDATION_FAILED', 0, 1],
    ['none', 'ok', 0, 1],
  ] as const) {
    const labels = { operation, outcome };
    const counted = await sample('ledger_gateway_operations_total', labels);
    const count = await sample('ledger_gateway_request_duration_seconds_count', labels);
    expect([operation, outcome, counted, count]).toEqual([operation, outcome, fields, timed]);
  }
});

test('attempts at calls are counted and timed by operation and outcome', async () => {
  const { gateway, sample, respondWith } = await start();
  const calls = (operation: string, outcome: string, kind = 'count', more = {}) =>
    sample(`ledger_gateway_call_duration_seconds_${kind}`, { operation, outcome, ...more });

  for (const field of Object.values(writes)) await gateway.graphql(`mutation { a: ${field} }`);
  await gateway.graphql(read);
  for (const operation of ['getGLCodes5', ...Object.keys(writes)]) {
    expect([operation, await calls(operation, 'answered')]).toEqual([operation, 1]);
  }

  respondWith(reply(503));
  await gateway.graphql(read);
  expect(await calls('getGLCodes5', 'UPSTREAM_FAILED')).toBe(3);
  expect(await calls('getGLCodes5', 'UPSTREAM_FAILED', 'bucket', { le: '+Inf' })).toBe(3);
  expect(await calls('getGLCodes5', 'UPSTREAM_FAILED', 'sum')).toBeGreaterThan(0);
  expect(await sample('ledger_gateway_call_retries_total', { operation: 'getGLCodes5' })).toBe(2);
});

test('tokens are counted by the result of their verification', async () => {
  const { gateway, sample } = await start();
  const tokens = (outcome: string) =>
    sample('ledger_gateway_token_verifications_total', { outcome });
  for (const _ of [1, 2, 3]) await gateway.graphql(read);
  await gateway.graphql(read, {}, { authorization: 'Bearer x' });
  const expired = await (await testIssuer()).token({ expiresIn: '-1h' });
  await gateway.graphql(read, {}, { authorization: `Bearer ${expired}` });
  const counts = ['verified', 'remembered', 'refused'].map(tokens);
  expect(await Promise.all(counts)).toEqual([1, 2, 2]);
});

test('no label contains text of a client or of the service', async () => {
  const hostile = 'hostile_label';
  const record = { status: hostile, message: hostile };
  const list = { service_status: { status: 0, message: hostile }, list: [{ Code: hostile }] };
  const { gateway, scrape } = await start(json({ ...record, ...list }));
  const names = [
    ...['x-request-id', 'user-agent', 'x-apollo-operation-name', 'apollographql-client-name'],
    ...['traceparent', 'idempotency-key'],
  ];
  const sent = Object.fromEntries(names.map((name) => [name, hostile]));
  const headers = { ...sent, origin: `https://${hostile}.example` };
  const codes = `glCodes(target: EMAIL, project: "${hostile}") { __typename }`;
  const representations = [{ __typename: hostile }, { __typename: 'GlCode', target: hostile }];
  for (const [query, variables] of [
    [`query ${hostile} { ${hostile}: ${codes} }`, { [hostile]: hostile }],
    [`mutation ${hostile} { ${hostile}: ${writes.saveApproverList} }`, {}],
    [`{ ${hostile} }`, {}],
    [
      'query ($a: [_Any!]!) { _entities(representations: $a) { __typename } }',
      { a: representations },
    ],
  ] as const) {
    await gateway.graphql(query, variables, headers);
  }
  await fetch(`${gateway.url}/${hostile}?${hostile}`, { method: 'PATCH', headers });
  await gateway.logLine({ msg: 'request', status: 404 });

  const text = await scrape();
  expect(sumOf(text, 'ledger_gateway_idempotency_total', { result: 'claimed' })).toBe(1);
  expect(text.toLowerCase()).not.toContain('hostile');

  const known = 'operation outcome result reason status le issuer to store service output'.split(
    ' ',
  );
  for (const { name, labels } of parseSamples(text)) {
    if (!name.startsWith('ledger_gateway_') || name === 'ledger_gateway_build_info') continue;
    expect(known).toEqual(expect.arrayContaining(Object.keys(labels)));
  }
});
