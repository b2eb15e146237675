import { expect, test } from '@jest/globals';
import { WorkflowAction } from '../../src/generated/resolvers.ts';
import { startTestGateway } from '../../testkit/gateway.ts';
import { read, write } from '../../testkit/graphql-operation.ts';
import { createLogRecorder } from '../../testkit/log-recorder.ts';
import { metric } from '../../testkit/metric.ts';
import { type Reply, startService, success } from '../../testkit/service.ts';
import {
  glCodesOf,
  scopeOf,
  startCalls,
  startOutcomes,
  unknown,
} from '../support/upstream-call.ts';

/** A reply with success and these headers. */
const successWith =
  (headers: Record<string, string | string[]>): Reply =>
  (response, received) => {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    return success(response, received);
  };

const invalid = unknown('UPSTREAM_INVALID_RESPONSE');

test.each([
  ['Age', '1'],
  ['Age', '86400'],
  ['Cache-Status', 'edge; hit'],
  ['Cache-Status', '"a cache";hit;ttl=30, edge;fwd=miss'],
  ['Cache-Status', 'edge; hit=?1; ttl=30'],
  ['X-Cache', 'HIT from proxy.example.com'],
  ['X-Cache', 'Hit from cloudfront'],
  ['X-Cache', ['MISS from a', 'HIT from b']],
  ['X-Cache', 'TCP_MEM_HIT'],
  ['X-Cache', 'RefreshHit from cloudfront'],
  ['X-Cache-Status', 'HIT'],
  ['X-Cache-Status', 'STALE'],
  ['X-Cache-Status', 'UPDATING'],
  ['X-Cache-Status', 'REVALIDATED'],
  ['CF-Cache-Status', 'HIT'],
  ['X-Varnish', '32770 3'],
])(
  'a write that a cache has answered (%s: %j) is unknown, and a read is served',
  async (...row) => {
    const [name, value] = row;
    const service = await startService(successWith({ [name]: value }));
    const { read, write } = startOutcomes(service.url);
    expect([await write(), await read()]).toEqual([invalid, 'success']);
  },
);

test.each([
  ['Age', '0'],
  ['Cache-Status', 'edge; fwd=miss; stored'],
  ['Cache-Status', 'edge; hit=?0; fwd=stale'],
  ['Cache-Status', 'hits; fwd=uri-miss; detail=hit'],
  ['X-Cache', 'MISS from proxy.example.com'],
  ['X-Cache', 'Error from cloudfront'],
  ['X-Cache', 'Miss from hitchhiker.example.com'],
  ['X-Cache-Status', 'BYPASS'],
  ['X-Cache-Status', 'EXPIRED'],
  ['CF-Cache-Status', 'DYNAMIC'],
  ['X-Varnish', '32772'],
  ['X-Cache-Lookup', 'HIT from proxy.example.com:80'],
  ['Via', '1.1 varnish'],
])('a write with %s: %s was answered by the service', async (name, value) => {
  const service = await startService(successWith({ [name]: value }));
  expect(await startOutcomes(service.url).write()).toBe('success');
});

test('a refusal from a cache says nothing about the write', async () => {
  const service = await startService((response) => response.writeHead(404, { age: '5' }).end());
  expect(await startOutcomes(service.url).write()).toBe(invalid);
});

test('responses of a cache are counted, and reads logged once', async () => {
  const service = await startService(successWith({ age: '7' }));
  const recorder = createLogRecorder();
  const { calls, counts } = startCalls(service, { log: recorder.createLogger() });
  for (const project of ['a', 'b']) await calls.read(glCodesOf(project), scopeOf());
  expect(counts.cached).toBe(2);
  const warnings = recorder.lines.filter(({ level }) => level === 40);
  expect(warnings).toMatchObject([
    { msg: 'a cache responds in place of the service', operation: 'getGLCodes5', header: 'age' },
  ]);
});

test('a write that a cache has answered is logged and counted as such', async () => {
  const service = await startService(successWith({ 'x-cache': 'HIT' }));
  const gateway = await startTestGateway(service);
  const { data } = await gateway.graphql(write);
  expect(data.result).toMatchObject({ code: 'UPSTREAM_INVALID_RESPONSE' });
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    fault: 'a cache has responded, by the header x-cache',
  });
  expect(await metric(gateway, 'ledger_gateway_calls_cached_total')).toBe(1);
});

test.each([
  ['Server', 'nginx/1.22.1'],
  ['Server', 'ATS/9.2.5'],
  ['Via', '1.1 varnish'],
  ['X-Cache', 'MISS from proxy.example.com'],
])('the first response that shows a proxy (%s: %s) is logged, with what to do', async (...row) => {
  const [name, value] = row;
  const service = await startService(successWith({ [name]: value }));
  const gateway = await startTestGateway(service);
  for (let n = 0; n < 2; n += 1) await gateway.graphql(read);
  const lines = gateway.logs.filter(
    ({ msg }) => msg === 'a proxy seems to stand before the service',
  );
  const hint = expect.stringContaining('docs/how-to/proxy-before-the-service.md');
  expect(lines).toMatchObject([{ level: 30, header: `${name.toLowerCase()}: ${value}`, hint }]);
});

test('a service that names itself is no proxy', async () => {
  const service = await startService(successWith({ Server: 'Kestrel' }));
  const gateway = await startTestGateway(service);
  await gateway.graphql(read);
  expect(gateway.logText()).not.toContain('a proxy seems');
});

// UPSTREAM_UNIQUE_PARAM

const actionsOfAll = Object.values(WorkflowAction).map(
  (action, n) => `a${n}: workflowAction(action: ${action}) { __typename }`,
);
const everything = `mutation { ${actionsOfAll.join(' ')} saveApprovers(approvers: []) { __typename } }`;

test('UPSTREAM_UNIQUE_PARAM makes each GET that changes state unique, and nothing else', async () => {
  const service = await startService(success);
  const gateway = await startTestGateway(service, {
    UPSTREAM_UNIQUE_PARAM: 'no_cache',
    MAX_WRITES_PER_OPERATION: String(actionsOfAll.length + 1),
  });
  await gateway.graphql(everything);
  await gateway.graphql(everything);
  await gateway.graphql(read);
  const searches = service.received.map(({ url }) => url.replace(/^[^?]*/, ''));
  const unique = searches.filter((search) => /^\?no_cache=[\da-f-]{36}$/.test(search));
  expect(new Set(unique).size).toBe(2 * actionsOfAll.length);
  const others = service.received.filter(({ url }) => !url.includes('no_cache='));
  expect(others.map(({ url }) => url.replace(/\?.*/, ''))).toEqual([
    '/saveApproverList',
    '/saveApproverList',
    '/getGLCodes5',
  ]);
});

test('a repeat with a key is the same request with UPSTREAM_UNIQUE_PARAM, and is not sent', async () => {
  const service = await startService(success);
  const gateway = await startTestGateway(service, { UPSTREAM_UNIQUE_PARAM: '$[once]' });
  const headers = { 'idempotency-key': 'k1' };
  const results = [
    await gateway.graphql(write, {}, headers),
    await gateway.graphql(write, {}, headers),
  ];
  expect(results.map(({ errors }) => errors)).toEqual([undefined, undefined]);
  expect(service.received.map(({ url }) => url)).toEqual([
    expect.stringMatching(/[?&]%24%5Bonce%5D=/),
  ]);
});
