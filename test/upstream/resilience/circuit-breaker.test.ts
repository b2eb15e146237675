import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { startTestGateway } from '../../support/gateway.ts';
import { read, write, writes } from '../../support/graphql-operation.ts';
import { success } from '../../support/held-service.ts';
import { metric, metricIs } from '../../support/metric.ts';
import { json, type Reply, reply, startService } from '../../support/service.ts';

/** The time that the circuit breaker reads. It stands still, so that on a slow machine no probe is due early. */
let nowMs = 0;

beforeEach(() => {
  nowMs = Date.now();
  jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** Advances the time until an open circuit allows a probe. */
function makeProbeDue(): void {
  nowMs += 4000;
}

/** The service asks to retry after the deadline, so a read gets one attempt. */
const fault = reply(503, '', { 'retry-after': '3600' });
const states = { closed: 0, halfOpen: 1, open: 2 };

/** Starts a gateway and a service whose reply can be changed. */
async function start(first: Reply = fault, variables: Record<string, string> = {}) {
  const service = { reply: first };
  const { url, received } = await startService((response, received) =>
    service.reply(response, received),
  );
  const gateway = await startTestGateway({ url }, { LOG_LEVEL: 'silent', ...variables });
  return {
    gateway,
    /** The paths of the requests that the service received, in order. */
    paths: () => received.map(({ url }) => url.split('?')[0]?.slice(1)),
    urls: () => received.map(({ url }) => url),
    respondWith(reply: Reply): void {
      service.reply = reply;
    },
    state: () => metric(gateway, 'ledger_gateway_circuit_state'),
    /** Sends a GraphQL operation and returns its result, or the extensions of its error. */
    async send(query = read) {
      const { data, errors } = await gateway.graphql(query);
      return errors?.[0]?.extensions ?? data.result;
    },
    /** Reads several times, one after another, since concurrent equal reads would share a call. */
    async read(times: number): Promise<void> {
      for (let n = 0; n < times; n++) await gateway.graphql(read);
    },
  };
}

/** Starts a gateway, opens its circuit, and changes the reply of the service. */
async function startOpen(then: Reply, variables?: Record<string, string>) {
  const gateway = await start(fault, variables);
  await gateway.read(10);
  expect(await gateway.state()).toBe(states.open);
  gateway.respondWith(then);
  return gateway;
}

const rejected = { code: 'UPSTREAM_UNAVAILABLE', retryable: true };

// Closed to open.

test.each<[string, Reply]>([
  ['503', fault],
  ['a reset connection', (response) => void response.socket?.resetAndDestroy()],
])('ten times %s in a row open the circuit, and then no call is sent', async (_, reply) => {
  const { send, read, state, paths } = await start(reply);
  await read(2);
  expect(await state()).toBe(states.closed);
  while (paths().length < 10) await read(1); // A retry counts like any other attempt.
  expect(await state()).toBe(states.open);
  expect(await send()).toMatchObject(rejected);
  expect(await send(write)).toMatchObject(rejected);
  expect(paths()).toHaveLength(10);
});

test('without requests, an open circuit is reported as half-open when a probe is due', async () => {
  const { state, respondWith, read } = await startOpen(success);
  makeProbeDue();
  expect(await state()).toBe(states.halfOpen);

  respondWith(fault);
  await read(1);
  expect(await state()).toBe(states.open);
});

test('each time that the circuit opens or closes is logged and counted', async () => {
  const { gateway, read, respondWith } = await start(fault, { LOG_LEVEL: 'info' });
  for (const round of [1, 2]) {
    respondWith(fault);
    await read(10);
    respondWith(success);
    makeProbeDue();
    await read(2);
    for (const to of ['open', 'closed']) {
      expect(await metric(gateway, 'ledger_gateway_circuit_transitions_total', { to })).toBe(round);
    }
  }
  const messages = gateway.logs.map(({ msg }) => String(msg));
  expect(messages.filter((msg) => msg.startsWith('circuit'))).toEqual([
    'circuit opened',
    'circuit closed',
    'circuit opened',
    'circuit closed',
  ]);
});

test('ten writes that fail open the circuit, and later ones are rejected before sending', async () => {
  const { send, state, paths } = await start();
  for (let n = 0; n < 10; n++) {
    expect(await send(write)).toMatchObject({ code: 'UPSTREAM_FAILED' });
  }
  expect(await state()).toBe(states.open);
  for (const field of Object.values(writes)) {
    expect(await send(`mutation { result: ${field} }`)).toMatchObject(rejected);
  }
  expect(paths()).toHaveLength(10);
});

test('nine faults between two successes do not open the circuit', async () => {
  const { respondWith, read, state } = await start();
  for (let round = 0; round < 3; round++) {
    respondWith(fault);
    await read(9);
    respondWith(success);
    await read(1);
  }
  expect(await state()).toBe(states.closed);
});

test.each<[string, Reply]>([
  ['500', reply(500)],
  ['400', reply(400)],
  ['401', reply(401)],
  ['403', reply(403)],
  ['404', reply(404)],
  ['429', reply(429)],
  ['status 1', json({ status: 1, service_status: { status: 1 } })],
  ['status 3', json({ status: 3, service_status: { status: 3 } })],
  ['status 7', json({ status: 7, service_status: { status: 7 } })],
  ['a body that is not JSON', reply(200, '<html>')],
  ['an empty body', reply(200)],
  ['a redirect', reply(302, '', { location: '/' })],
])('%s thirty times does not open the circuit', async (_, reply) => {
  const { send, read, state, paths } = await start(reply);
  await read(20);
  for (let n = 0; n < 10; n++) await send(write);
  expect(await state()).toBe(states.closed);
  expect(paths()).toHaveLength(30);
});

// Open to closed.

test('an open circuit rejects calls at once until a probe is due', async () => {
  const { gateway, state, paths } = await startOpen(success);
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, n) => gateway.graphql(n % 2 === 0 ? read : write)),
  );
  for (const { status, data, errors } of responses) {
    expect(status).toBe(200);
    expect(data).toEqual({ result: null });
    expect(errors?.[0]?.extensions).toMatchObject(rejected);
  }
  expect(paths()).toHaveLength(10);
  expect(await state()).toBe(states.open);
});

test('a read serves as the probe, and closes the circuit if it succeeds', async () => {
  const { send, state, paths } = await startOpen(success);
  makeProbeDue();
  expect(await send()).toMatchObject({ __typename: 'GlCodeList' });
  expect(paths()).toHaveLength(11);
  expect(await state()).toBe(states.closed);
  expect(await send(write)).toMatchObject({ __typename: 'WorkflowActionCompleted' });
});

test('a probe that fails leaves the circuit open', async () => {
  const { send, state, paths } = await startOpen(fault);
  makeProbeDue();
  expect(await send()).toMatchObject({ code: 'UPSTREAM_FAILED' });
  expect(await state()).toBe(states.open);
  expect(await send()).toMatchObject(rejected);
  expect(paths()).toHaveLength(11);
});

test('a write is sent once, after a read that serves as the probe', async () => {
  const { send, state, paths, urls } = await startOpen(success);
  makeProbeDue();
  expect(await send(write)).toMatchObject({ __typename: 'WorkflowActionCompleted' });
  expect(paths().slice(10)).toEqual(['getGLCodes5', 'upgradeToHQ']);
  expect(urls()[10]).toBe('/getGLCodes5?target=-1&project=&includeHide=false');
  expect(await state()).toBe(states.closed);
});

test.each(Object.keys(writes))('%s is not sent if the probe before it fails', async (name) => {
  const { send, state, paths } = await startOpen(fault);
  makeProbeDue();
  expect(await send(`mutation { result: ${writes[name]} }`)).toMatchObject(rejected);
  expect(paths().slice(10)).toEqual(['getGLCodes5']);
  expect(await state()).toBe(states.open);
});

test('a probe that hangs leaves the write enough time to report that it was not sent', async () => {
  const { send, paths } = await startOpen(() => {}, { UPSTREAM_TIMEOUT_MS: '600' });
  makeProbeDue();
  expect(await send(write)).toMatchObject(rejected);
  expect(paths().slice(10)).toEqual(['getGLCodes5']);
});

test('a 4xx response to the probe closes the circuit', async () => {
  const { respondWith, send, paths } = await startOpen(success);
  respondWith((response, received) =>
    (received.url.includes('target=-1') ? reply(400) : success)(response, received),
  );
  makeProbeDue();
  expect(await send(write)).toMatchObject({ __typename: 'WorkflowActionCompleted' });
  expect(paths().slice(10)).toEqual(['getGLCodes5', 'upgradeToHQ']);
});

test('a 500 response to the probe closes the circuit, since the service responds', async () => {
  const { send, state } = await startOpen(reply(500));
  makeProbeDue();
  expect(await send()).toMatchObject({ code: 'UPSTREAM_FAILED' });
  expect(await state()).toBe(states.closed);
});

/** A reply that reports when its request has arrived, and succeeds when it is released. */
function holdSuccess() {
  const arrived = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const held: Reply = async (response, received) => {
    arrived.resolve();
    await released.promise;
    await success(response, received);
  };
  return { arrived, released, held };
}

test('only one probe is sent at a time, and other calls are rejected at once', async () => {
  const { respondWith, send, state, paths, gateway } = await startOpen(success);
  const { arrived, released, held } = holdSuccess();
  respondWith(held);
  makeProbeDue();
  const probing = send(write);
  await arrived.promise;
  expect(await state()).toBe(states.open);
  for (const query of [read, write, read, write]) expect(await send(query)).toMatchObject(rejected);
  expect(paths()).toHaveLength(11);

  released.resolve();
  expect(await probing).toMatchObject({ __typename: 'WorkflowActionCompleted' });
  await metricIs(gateway, 'ledger_gateway_circuit_state', states.closed);
  expect(paths().slice(10)).toEqual(['getGLCodes5', 'upgradeToHQ']);
});

test('a circuit that closes starts counting anew', async () => {
  const { respondWith, send, read, state } = await startOpen(success);
  makeProbeDue();
  await send();
  respondWith(fault);
  await read(9);
  expect(await state()).toBe(states.closed);
  await read(1);
  expect(await state()).toBe(states.open);
});
