import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startCollector } from './collector.ts';
import { json, type Reply, read, reply, startService, startTestGateway, write } from './helper.ts';
import { startProcess } from './process.ts';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';
/** The spans of one read, the outermost first. */
const order = ['graphql request', 'Query.glCodes', 'getGLCodes5'];

const traceparent = `00-${traceId}-${parentId}-01`;

async function start(reaction: Reply) {
  const collector = await startCollector();
  const service = await startService(reaction);
  const gateway = await startProcess(service, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  return {
    service,
    collector,
    ask: (query: string, headers: Record<string, string> = {}) =>
      gateway.post({ query }, { authorization: `Bearer ${gateway.token}`, ...headers }),
    /** The spans, which a gateway that ends exports to the last one. */
    async spans() {
      expect(await gateway.stop()).toBe(0);
      return collector.spans();
    },
  };
}

const fine = json({ status: 0, service_status: { status: 0 }, list: [] });

test('a trace goes on through request, resolver and call, and on to the service', async () => {
  const { service, collector, ask, spans } = await start(fine);

  await ask(read, { traceparent, tracestate: 'vendor=value' });

  const [request, resolver, call, ...others] = (await spans()).sort(
    (a, b) => order.indexOf(a.name) - order.indexOf(b.name),
  );
  expect(others).toEqual([]);
  expect(request).toMatchObject({
    name: 'graphql request',
    kind: 2,
    traceId,
    parentSpanId: parentId,
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/graphql',
      'http.response.status_code': 200,
    },
  });
  expect(resolver).toMatchObject({
    name: 'Query.glCodes',
    kind: 1,
    traceId,
    parentSpanId: request?.spanId,
  });
  expect(call).toMatchObject({
    name: 'getGLCodes5',
    kind: 3,
    traceId,
    parentSpanId: resolver?.spanId,
    attributes: { 'http.request.method': 'GET', 'http.response.status_code': 200 },
  });
  expect(service.received[0]?.headers).toMatchObject({
    traceparent: `00-${traceId}-${call?.spanId}-01`,
    tracestate: 'vendor=value',
  });
  expect(new Set(collector.paths)).toEqual(new Set(['/v1/traces']));
});

test('a trace begins here where none came', async () => {
  const { service, ask, spans } = await start(fine);
  await ask(read);
  const all = await spans();
  expect(all.map(({ name }) => name).sort()).toEqual([...order].sort());
  expect(new Set(all.map((span) => span.traceId)).size).toBe(1);
  expect(all.find(({ name }) => name === 'graphql request')?.parentSpanId).toBe('');
  const call = all.find(({ name }) => name === 'getGLCodes5');
  expect(service.received[0]?.headers.traceparent).toBe(`00-${call?.traceId}-${call?.spanId}-01`);
});

test.each([
  'x',
  '00-00000000000000000000000000000000-00f067aa0ba902b7-01',
  `00-${traceId}-0000000000000000-01`,
  `ff-${traceId}-${parentId}-01`,
  `00-${traceId.toUpperCase()}-${parentId}`,
  `${traceparent}-more`,
])('a traceparent that is none begins a trace of our own: %s', async (header) => {
  const { service, ask } = await start(fine);
  expect((await ask(read, { traceparent: header })).status).toBe(200);
  expect(service.received[0]?.headers.traceparent).toMatch(/^00-[\da-f]{32}-[\da-f]{16}-01$/);
  expect(service.received[0]?.headers.traceparent).not.toContain(traceId);
});

test('a trace that is not recorded is passed on as such, and not exported', async () => {
  const { service, ask, spans } = await start(fine);
  await ask(read, { traceparent: `00-${traceId}-${parentId}-00` });
  expect(service.received[0]?.headers.traceparent).toMatch(
    new RegExp(`^00-${traceId}-[\\da-f]{16}-00$`),
  );
  expect(await spans()).toEqual([]);
});

test('each attempt is a span, with what came of it', async () => {
  const { service, ask, spans } = await start(reply(503));
  await ask(read, { traceparent });
  await ask(write, { traceparent });
  const all = await spans();
  const attempts = all.filter(({ name }) => name === 'getGLCodes5');
  expect(attempts).toHaveLength(3);
  for (const { status, attributes } of attempts) {
    expect(status).toBe('UPSTREAM_FAILED');
    expect(attributes['http.response.status_code']).toBe(503);
  }
  expect(all.find(({ name }) => name === 'Query.glCodes')?.status).toBe('UPSTREAM_FAILED');
  expect(all.filter(({ name }) => name === 'upgradeToHQ')).toHaveLength(1);
  const parents = service.received.map(({ headers }) => String(headers.traceparent).split('-')[2]);
  expect(new Set(parents).size).toBe(4);
});

test('the spans of requests at the same time do not meet', async () => {
  const { ask, spans } = await start(fine);
  const ids = Array.from({ length: 20 }, (_, n) => (n + 1).toString(16).padStart(32, '0'));
  await Promise.all(
    ids.map((id, n) =>
      ask(read.replace('north', `${n}`), { traceparent: `00-${id}-${parentId}-01` }),
    ),
  );
  const all = await spans();
  for (const id of ids) {
    const own = all.filter((span) => span.traceId === id);
    expect(own.map(({ name }) => name).sort()).toEqual([...order].sort());
  }
});

test('a collector that is away, or fails, is nobody’s concern', async () => {
  const collector = await startService(reply(500));
  const service = await startService(fine);
  const gateway = await startProcess(service, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
  collector.server.close();
  const { status } = await gateway.post(
    { query: read },
    { authorization: `Bearer ${gateway.token}` },
  );
  expect(status).toBe(200);
  const code = await gateway.stop();
  expect({ code, output: gateway.output() }).toEqual({
    code: 0,
    output: expect.stringContaining('"msg":"closed"'),
  });
}, 30_000);

/** A module that notes what is loaded, given to Node before the gateway. */
const recorder = (file: string) => `
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
registerHooks({
  load(url, context, next) {
    appendFileSync(${JSON.stringify(file)}, url + '\\n');
    return next(url, context);
  },
});
`;

test.each([
  ['nothing of the SDK is loaded without an endpoint', false],
  ['the SDK is loaded with one, which shows that the test would see it', true],
])('%s', async (_, traced) => {
  const folder = await mkdtemp(join(tmpdir(), 'tracing-'));
  const file = join(folder, 'loaded.txt');
  const hooks = join(folder, 'hooks.mjs');
  await writeFile(hooks, recorder(file));
  const collector = await startCollector();
  const service = await startService(fine);

  const gateway = await startProcess(
    service,
    traced ? { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } : {},
    ['--import', hooks],
  );
  const headers = { authorization: `Bearer ${gateway.token}`, traceparent };
  expect((await gateway.post({ query: read }, headers)).status).toBe(200);
  expect(await gateway.stop()).toBe(0);

  const loaded = await readFile(file, 'utf8');
  await rm(folder, { recursive: true });
  const ours: string[] = loaded.match(/@opentelemetry\/(?!api\/)[\w-]+/g) ?? [];
  expect(loaded).toContain('@opentelemetry/api/');
  expect(ours.includes('@opentelemetry/sdk-trace')).toBe(traced);
  if (!traced) {
    expect(ours).toEqual([]);
    // No trace of ours is begun: the caller's goes on as it came, or not at all.
    expect([undefined, traceparent]).toContain(service.received[0]?.headers.traceparent);
  }
});

test.each([
  [
    { traceparent, tracestate: 'vendor=value' },
    { traceparent, tracestate: 'vendor=value' },
  ],
  [{ traceparent: 'made-up', tracestate: 'vendor=value' }, {}],
])('without an endpoint, a trace is passed on as it came: %j', async (given, passed) => {
  const service = await startService(fine);
  const gateway = await startTestGateway(service);
  await gateway.graphql(read, {}, given);
  await gateway.graphql(write, {}, given);
  expect(service.received).toHaveLength(2);
  for (const { headers } of service.received) {
    const { traceparent, tracestate } = headers;
    expect(JSON.parse(JSON.stringify({ traceparent, tracestate }))).toEqual(passed);
  }
});
