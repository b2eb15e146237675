import { beforeAll, describe, expect, test } from '@jest/globals';
import { environmentFor } from '../../testkit/environment.ts';
import { eventually } from '../../testkit/eventually.ts';
import { startGatewayProcess } from '../../testkit/gateway-process.ts';
import { read, write } from '../../testkit/graphql-operation.ts';
import { startProcess } from '../../testkit/process.ts';
import { reply, startService, success } from '../../testkit/service.ts';
import { type Span, startCollector } from '../support/collector.ts';

const parentId = '00f067aa0ba902b7';
/** The spans of one read, the outermost first. */
const spanNames = ['POST /graphql', 'query', 'Query.glCodes', 'GET /getGLCodes5'];

const traceIdOf = (n: number) => n.toString(16).padStart(32, '0');
const traceparentOf = (traceId: string) => `00-${traceId}-${parentId}-01`;
const traceId = traceIdOf(0x4bf92f35);
const failingId = traceIdOf(0x503);
const refusedId = traceIdOf(0x400);
const unsampledId = traceIdOf(0x5a);
const keyedId = traceIdOf(0x4e);
const rejectedId = traceIdOf(0x401);
const concurrentIds = Array.from({ length: 20 }, (_, n) => traceIdOf(n + 1));
const traceparent = traceparentOf(traceId);

describe('with an endpoint', () => {
  /** The headers of requests that do not continue a trace. */
  const withoutTrace: Record<string, string>[] = [
    'x',
    `00-${traceIdOf(0)}-${parentId}-01`,
    `00-${traceId}-0000000000000000-01`,
    `ff-${traceId}-${parentId}-01`,
    `00-${traceId.toUpperCase()}-${parentId}`,
    `${traceparent}-more`,
  ].map((traceparent) => ({ traceparent }));
  withoutTrace.push({});
  let collector: Awaited<ReturnType<typeof startCollector>>;
  let service: Awaited<ReturnType<typeof startService>>;
  let gateway: Awaited<ReturnType<typeof startGatewayProcess>>;
  let spans: Span[];

  const ofTrace = (id: string) => spans.filter((span) => span.traceId === id);
  const namesOf = (all: Span[]) => all.map(({ name }) => name).sort();
  /** The trace headers of the request that the service received for a project. */
  const headersOf = (project: string) => {
    const [found] = service.received.filter(({ url }) => url.includes(`project=${project}&`));
    return { traceparent: String(found?.headers.traceparent), ...found?.headers };
  };

  // A gateway that stops exports its last spans: one gateway handles the requests of all tests.
  beforeAll(async () => {
    collector = await startCollector();
    service = await startService((response, request) => {
      const [, id] = String(request.headers.traceparent).split('-');
      const statuses: Record<string, number> = { [failingId]: 503, [refusedId]: 400 };
      const status = statuses[String(id)];
      return (status ? reply(status) : success)(response, request);
    });
    gateway = await startGatewayProcess(service, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '1',
      OTEL_SERVICE_NAME: 'ledger-bff',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=secret',
    });
    const send = async (query: string, headers: Record<string, string>) => {
      const authorization = `Bearer ${gateway.token}`;
      expect((await gateway.post({ query }, { authorization, ...headers })).status).toBe(200);
    };
    const readOf = (project: string) =>
      read.replace(/^\{/, 'query Codes {').replace('north', project);

    await send(readOf('continued'), { traceparent, tracestate: 'vendor=value' });
    for (const [n, headers] of withoutTrace.entries()) await send(readOf(`new-${n}`), headers);
    for (const project of ['unsampled', 'unsampled-again']) {
      await send(readOf(project), { traceparent: `00-${unsampledId}-${parentId}-00` });
    }
    await Promise.all(
      concurrentIds.map((id) => send(readOf(id), { traceparent: traceparentOf(id) })),
    );
    await send(readOf('failing'), { traceparent: traceparentOf(failingId) });
    await send(write, { traceparent: traceparentOf(failingId) });
    await send(read, { traceparent: traceparentOf(refusedId) });
    await send(write, { traceparent: traceparentOf(keyedId), 'idempotency-key': 'a' });
    for (const token of [{ authorization: 'Bearer x' }, {}]) {
      const headers = { traceparent: traceparentOf(rejectedId), ...token };
      expect((await gateway.post({ query: read }, headers)).status).toBe(401);
    }
    expect(await gateway.stop()).toBe(0);
    spans = collector.spans();
  });

  test('a request that is not traced because of its traceparent is logged once, with the setting', () => {
    const msg = 'request not traced because its traceparent is not sampled';
    expect(gateway.logs.filter((line) => line.msg === msg)).toMatchObject([
      {
        level: 40,
        variable: 'OTEL_TRACES_SAMPLER',
        value: 'parentbased_traceidratio',
        hint: expect.stringContaining('always_on'),
      },
    ]);
  });

  test('log lines name their trace and span', () => {
    const spanOf = (prefix: string) =>
      ofTrace(failingId).find(({ name }) => name.startsWith(prefix));
    const request = gateway.logs.find(
      ({ msg, traceId }) => msg === 'request' && traceId === failingId,
    );
    expect(request).toMatchObject({ trace_id: failingId, span_id: spanOf('POST /')?.spanId });
    const call = gateway.logs.find(({ msg, traceId }) => msg === 'call' && traceId === failingId);
    const ids = ofTrace(failingId).map(({ spanId }) => spanId);
    expect(ids).toContain(call?.span_id);
    expect(call).toMatchObject({ trace_id: failingId });
    expect(call?.span_id).not.toBe(request?.span_id);
  });

  test('a trace continues through request, resolver and call to the service', () => {
    const [gatewayUrl, serviceUrl] = [new URL(gateway.url), new URL(service.url)];
    const [request, operation, resolver, call, ...others] = ofTrace(traceId).sort(
      (a, b) => spanNames.indexOf(a.name) - spanNames.indexOf(b.name),
    );
    expect(others).toEqual([]);
    expect(request).toMatchObject({
      kind: 2,
      parentSpanId: parentId,
      isError: false,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/graphql',
        'http.response.status_code': 200,
        'url.scheme': 'http',
        'url.path': '/graphql',
        'server.address': gatewayUrl.hostname,
        'server.port': Number(gatewayUrl.port),
        'ledger.request_id': expect.any(String),
        'ledger.outcome': 'ok',
      },
    });
    expect(operation).toMatchObject({
      kind: 2,
      parentSpanId: request?.spanId,
      attributes: { 'graphql.operation.type': 'query', 'graphql.operation.name': 'Codes' },
    });
    expect(resolver).toMatchObject({
      kind: 1,
      parentSpanId: operation?.spanId,
      isError: false,
      attributes: { 'ledger.outcome': 'GlCodeList' },
    });
    expect(call).toMatchObject({
      kind: 3,
      parentSpanId: resolver?.spanId,
      isError: false,
      attributes: {
        'http.request.method': 'GET',
        'http.response.status_code': 200,
        'server.address': serviceUrl.hostname,
        'server.port': Number(serviceUrl.port),
        'url.full': `${serviceUrl.href}getGLCodes5`,
        'url.template': '/getGLCodes5',
      },
    });
    expect(call?.attributes).not.toHaveProperty('error.type');
    expect(headersOf('continued')).toMatchObject({
      traceparent: `00-${traceId}-${call?.spanId}-01`,
      tracestate: 'vendor=value',
    });
    expect(new Set(collector.paths)).toEqual(new Set(['/v1/traces']));
    expect(collector.headers[0]).toHaveProperty('x-api-key', 'secret');
    expect(collector.bytes().includes('continued')).toBe(false);
  });

  test.each([...withoutTrace.entries()])('request %d with %j starts a new trace', (n) => {
    const { traceparent } = headersOf(`new-${n}`);
    expect(traceparent).not.toContain(traceId);
    const all = ofTrace(traceparent.split('-')[1] ?? '');
    expect(namesOf(all)).toEqual([...spanNames].sort());
    expect(all.find(({ name }) => name === 'POST /graphql')?.parentSpanId).toBe('');
    const call = all.find(({ name }) => name === 'GET /getGLCodes5');
    expect(traceparent).toBe(`00-${call?.traceId}-${call?.spanId}-01`);
  });

  test('an unsampled trace is forwarded as such, and not exported', () => {
    const { traceparent } = headersOf('unsampled');
    expect(traceparent).toMatch(new RegExp(`^00-${unsampledId}-[\\da-f]{16}-00$`));
    expect(ofTrace(unsampledId)).toEqual([]);
  });

  test('each attempt has a span with its outcome', () => {
    const all = ofTrace(failingId);
    const attempts = all.filter(({ name }) => name === 'GET /getGLCodes5');
    const resends = attempts.map(({ attributes }) => attributes['http.request.resend_count']);
    expect(new Set(resends)).toEqual(new Set([undefined, 1, 2]));
    for (const attempt of attempts) {
      expect(attempt).toMatchObject({
        isError: true,
        attributes: { 'http.response.status_code': 503, 'error.type': '503' },
      });
    }
    expect(all.filter(({ name }) => name === 'GET /upgradeToHQ')).toHaveLength(1);
    const errors = all.flatMap(({ name, isError, attributes }) =>
      isError && !name.startsWith('GET') ? [[name, attributes['error.type']]] : [],
    );
    expect(errors.sort()).toEqual([
      ['Mutation.workflowAction', 'LedgerOutcomeUnknown'],
      ['Query.glCodes', 'UPSTREAM_FAILED'],
      ['query', 'UPSTREAM_FAILED'],
    ]);
    const parents = service.received
      .map(({ headers }) => String(headers.traceparent).split('-'))
      .filter(([, id]) => id === failingId)
      .map(([, , parent]) => parent);
    expect(new Set(parents).size).toBe(4);
  });

  test('the type of an error is the status of the response, from 400 on', () => {
    const [call] = ofTrace(refusedId).filter(({ name }) => name === 'GET /getGLCodes5');
    expect(call).toMatchObject({ isError: true, attributes: { 'error.type': '400' } });
  });

  test('claiming and recording a key have spans', () => {
    const all = ofTrace(keyedId);
    const field = all.find(({ name }) => name === 'Mutation.workflowAction');
    const uses = all.filter(({ name }) => name.startsWith('idempotency '));
    expect(namesOf(uses)).toEqual(['idempotency claim', 'idempotency record']);
    const use = {
      parentSpanId: field?.spanId,
      kind: 3,
      attributes: { 'ledger.store': 'memory' },
    };
    expect(uses).toMatchObject([use, use]);
  });

  test('a rejected request has a span, which is no error of the server', () => {
    const attributes = { 'http.response.status_code': 401, 'ledger.outcome': 'UNAUTHENTICATED' };
    const span = { name: 'POST /graphql', isError: false, attributes };
    expect(ofTrace(rejectedId)).toMatchObject([span, span]);
  });

  test('the spans of concurrent requests belong to their own traces', () => {
    for (const id of concurrentIds) expect(namesOf(ofTrace(id))).toEqual([...spanNames].sort());
  });

  test('the resource has the attributes of the environment', () => {
    expect(collector.resource()).toMatchObject({
      'service.name': 'ledger-bff',
      'service.version': expect.stringMatching(/^\d+\.\d+\.\d+$/),
      'service.instance.id': expect.stringMatching(/^[\da-f-]{36}$/),
      'telemetry.sdk.name': 'opentelemetry',
      'telemetry.sdk.language': 'nodejs',
      'telemetry.sdk.version': expect.any(String),
      'deployment.environment.name': 'test',
    });
  });
});

/** Exports a span for each trace header. */
const exportSpans = `
import { readConfig } from './testkit/config.ts';
import { startServerSpan, startTracing } from './src/telemetry/tracing.ts';
const { close } = await startTracing(readConfig(process.env).tracing, '1', console);
for (const traceparent of process.argv.slice(1)) startServerSpan('request', { traceparent }).end();
await close();
`;

test('a sampler decides by the trace of the client only if it is based on its parent', async () => {
  const collector = await startCollector();
  const exportWith = async (OTEL_TRACES_SAMPLER: string) => {
    const sampler = { OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG: '0' };
    const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...sampler };
    const env = await environmentFor({ url: 'http://127.0.0.1:1/' }, variables);
    const script = ['--input-type=module-typescript', '-e', exportSpans, traceparent, 'none'];
    expect(await startProcess(script, { env }).exited).toEqual({ code: 0, signal: null });
    return collector.spans().map(({ traceId }) => traceId);
  };
  expect(await exportWith('traceidratio')).toEqual([]);
  expect(await exportWith('parentbased_always_off')).toEqual([traceId]);
});

test('batches that the collector refuses, and then its end, are one warning in the log and affect neither responses nor the exit code', async () => {
  const collector = await startService(reply(404));
  const gateway = await startGatewayProcess(await startService(success), {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  });
  const list = 'glCodes(target: EMAIL, project: "north") { __typename }';
  const lists = Array.from({ length: 180 }, (_, n) => `l${n}: ${list}`);
  const authorization = `Bearer ${gateway.token}`;
  // A full batch of 512 spans is exported at once. Each field has one.
  for (let n = 0; n < 6; n++) {
    const { status } = await gateway.post({ query: `{ ${lists.join(' ')} }` }, { authorization });
    expect(status).toBe(200);
  }
  await gateway.logLine({ msg: 'cannot export traces', fault: 'Not Found' });
  await eventually(async () => expect(collector.received.length).toBeGreaterThan(1));
  collector.server.close();
  // The shutdown cannot export the rest.
  expect(await gateway.stop()).toBe(0);
  expect(gateway.logs.at(-1)).toMatchObject({ msg: 'closed' });
  expect(gateway.logs.filter(({ msg }) => msg === 'cannot export traces')).toHaveLength(1);
});

test.each([
  ['http', 80],
  ['https', 443],
])(
  'a call to a service whose %s URL has no port has the port %d in its span',
  async (protocol, port) => {
    const collector = await startCollector();
    // Whether anything listens at this port makes no difference.
    const service = { url: `${protocol}://127.0.0.1/` };
    const gateway = await startGatewayProcess(service, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    });
    await gateway.post({ query: read }, { authorization: `Bearer ${gateway.token}` });
    expect(await gateway.stop()).toBe(0);
    const call = collector.spans().find(({ name }) => name === 'GET /getGLCodes5');
    expect(call?.attributes).toMatchObject({ 'server.address': '127.0.0.1', 'server.port': port });
  },
);

test('without an endpoint, the trace of the client is logged and forwarded', async () => {
  const service = await startService(success);
  const gateway = await startGatewayProcess(service);
  const authorization = `Bearer ${gateway.token}`;
  const tracestate = 'vendor=value';
  for (const query of [read, write]) {
    for (const given of [traceparent, 'invalid']) {
      const headers = { authorization, traceparent: given, tracestate };
      expect((await gateway.post({ query }, headers)).status).toBe(200);
    }
  }
  for (const msg of ['sent', 'call', 'request']) {
    expect(await gateway.logLine({ msg, traceId })).toBeDefined();
  }
  const sent = service.received.map(({ headers }) => [headers.traceparent, headers.tracestate]);
  const [valid, invalid] = [
    [traceparent, tracestate],
    [undefined, undefined],
  ];
  expect(sent).toEqual([valid, invalid, valid, invalid]);
});
