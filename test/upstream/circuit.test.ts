import type { Socket } from 'node:net';
import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import {
  json,
  type Reply,
  read,
  reply,
  startService,
  startTestGateway,
  write,
  writes,
} from '../helper.ts';
import { fine, metric, metricIs } from './held.ts';

/** The time that the circuit reads. It stands still, so that no slow machine makes a probe due. */
let nowMs = 0;

beforeEach(() => {
  nowMs = Date.now();
  jest.spyOn(Date, 'now').mockImplementation(() => nowMs);
});

afterEach(() => {
  jest.restoreAllMocks();
});

/** Puts the time forward to where an open circuit lets a probe out. */
function letProbeBeDue(): void {
  nowMs += 4000;
}

const fault = reply(500);
const states = { closed: 0, halfOpen: 1, open: 2 };

/** A gateway before a service whose reply can be changed. */
async function start(first: Reply = fault, variables: Record<string, string> = {}) {
  const service = { reply: first };
  const { url, received } = await startService((response, it) => service.reply(response, it));
  const gateway = await startTestGateway({ url }, { LOG_LEVEL: 'silent', ...variables });
  return {
    gateway,
    /** The paths of the calls that came, in order. */
    paths: () => received.map(({ url }) => url.split('?')[0]?.slice(1)),
    urls: () => received.map(({ url }) => url),
    answerWith(reply: Reply): void {
      service.reply = reply;
    },
    state: () => metric(gateway, 'ledger_gateway_circuit_state'),
    async ask(query = read) {
      const { data, errors } = await gateway.graphql(query);
      return errors?.[0]?.extensions ?? data.result;
    },
    /** Reads so often, one after another: equal ones at a time would be one call. */
    async read(times: number): Promise<void> {
      for (let n = 0; n < times; n++) await gateway.graphql(read);
    },
  };
}

/** A gateway whose circuit is open, and a service that works again or still does not. */
async function startOpen(then: Reply, variables?: Record<string, string>) {
  const it = await start(fault, variables);
  await it.read(10);
  expect(await it.state()).toBe(states.open);
  it.answerWith(then);
  return it;
}

const refused = { code: 'UPSTREAM_UNAVAILABLE', retryable: true };

// Opening.

test.each<[string, Reply]>([
  ['500', fault],
  ['a reset', (response) => void response.socket?.resetAndDestroy()],
])('ten times %s in a row open it, and then no call is made', async (_, reply) => {
  const { ask, read, state, paths } = await start(reply);
  await read(2);
  expect(await state()).toBe(states.closed);
  while (paths().length < 10) await read(1); // An attempt that is a retry counts like any other.
  expect(await state()).toBe(states.open);
  expect(await ask()).toMatchObject(refused);
  expect(await ask(write)).toMatchObject(refused);
  expect(paths()).toHaveLength(10);
});

test('ten writes that fail open it, and the next one was surely not sent', async () => {
  const { ask, state, paths } = await start();
  for (let n = 0; n < 10; n++) {
    expect(await ask(write)).toMatchObject({ code: 'UPSTREAM_FAILED' });
  }
  expect(await state()).toBe(states.open);
  for (const field of Object.values(writes)) {
    expect(await ask(`mutation { result: ${field} }`)).toMatchObject(refused);
  }
  expect(paths()).toHaveLength(10);
});

test('nine faults and an answer, again and again, do not open it while they are few', async () => {
  const { answerWith, read, state } = await start();
  for (let round = 0; round < 4; round++) {
    answerWith(fault);
    await read(9);
    answerWith(fine);
    await read(1);
  }
  expect(await state()).toBe(states.closed);
});

test('two faults for each answer open it once they are many', async () => {
  const { answerWith, read, state, paths } = await start();
  for (let round = 0; round < 25 && (await state()) === states.closed; round++) {
    answerWith(fine);
    await read(1);
    answerWith(fault);
    await read(2);
  }
  expect(await state()).toBe(states.open);
  expect(paths().length).toBeGreaterThanOrEqual(50);
});

test('a fault for every two answers does not open it', async () => {
  const { answerWith, read, state, paths } = await start();
  for (let round = 0; round < 30; round++) {
    answerWith(fault);
    await read(1);
    answerWith(fine);
    await read(2);
  }
  expect(await state()).toBe(states.closed);
  expect(paths()).toHaveLength(90);
});

test.each<[string, Reply]>([
  ['400', reply(400)],
  ['401', reply(401)],
  ['403', reply(403)],
  ['404', reply(404)],
  ['429', reply(429)],
  ['status 1', json({ status: 1, service_status: { status: 1 } })],
  ['status 3', json({ status: 3, service_status: { status: 3 } })],
  ['status 7', json({ status: 7, service_status: { status: 7 } })],
  ['no JSON', reply(200, '<html>')],
  ['nothing', reply(200)],
  ['a redirect', reply(302, '', { location: '/' })],
])('%s thirty times is no fault of the service', async (_, reply) => {
  const { ask, read, state, paths } = await start(reply);
  await read(20);
  for (let n = 0; n < 10; n++) await ask(write);
  expect(await state()).toBe(states.closed);
  expect(paths()).toHaveLength(30);
});

// Open, and on the way to closed.

test('an open one refuses at once and makes no call until a probe is due', async () => {
  const { gateway, state, paths } = await startOpen(fine);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => gateway.graphql(n % 2 === 0 ? read : write)),
  );
  for (const { status, data, errors } of answers) {
    expect(status).toBe(200);
    expect(data).toEqual({ result: null });
    expect(errors?.[0]?.extensions).toMatchObject(refused);
  }
  expect(paths()).toHaveLength(10);
  expect(await state()).toBe(states.open);
});

test('a read is the probe where one is due, and closes it', async () => {
  const { ask, state, paths } = await startOpen(fine);
  letProbeBeDue();
  expect(await ask()).toMatchObject({ __typename: 'GlCodeList' });
  expect(paths()).toHaveLength(11);
  expect(await state()).toBe(states.closed);
  expect(await ask(write)).toMatchObject({ __typename: 'WorkflowActionCompleted' });
});

test('a read that fails as the probe leaves it open', async () => {
  const { ask, state, paths } = await startOpen(fault);
  letProbeBeDue();
  expect(await ask()).toMatchObject({ code: 'UPSTREAM_FAILED' });
  expect(await state()).toBe(states.open);
  expect(await ask()).toMatchObject(refused);
  expect(paths()).toHaveLength(11);
});

test('a write sends a read ahead, and goes out once when that is answered', async () => {
  const { ask, state, paths, urls } = await startOpen(fine);
  letProbeBeDue();
  expect(await ask(write)).toMatchObject({ __typename: 'WorkflowActionCompleted' });
  expect(paths().slice(10)).toEqual(['getGLCodes5', 'upgradeToHQ']);
  expect(urls()[10]).toBe('/getGLCodes5?target=-1&project=&includeHide=false');
  expect(await state()).toBe(states.closed);
});

test.each(Object.keys(writes))('%s is not sent when the read ahead of it fails', async (name) => {
  const { ask, state, paths } = await startOpen(fault);
  letProbeBeDue();
  expect(await ask(`mutation { result: ${writes[name]} }`)).toMatchObject(refused);
  expect(paths().slice(10)).toEqual(['getGLCodes5']);
  expect(await state()).toBe(states.open);
});

test('a read ahead that hangs leaves the write the time to say that it was not sent', async () => {
  const { ask, paths } = await startOpen(() => {}, { UPSTREAM_TIMEOUT_MS: '600' });
  letProbeBeDue();
  expect(await ask(write)).toMatchObject(refused);
  expect(paths().slice(10)).toEqual(['getGLCodes5']);
});

test('a 4xx to the read ahead says that the service is back', async () => {
  const { answerWith, ask, paths } = await startOpen(fine);
  answerWith((response, it) => (it.url.includes('target=-1') ? reply(400) : fine)(response, it));
  letProbeBeDue();
  expect(await ask(write)).toMatchObject({ __typename: 'WorkflowActionCompleted' });
  expect(paths().slice(10)).toEqual(['getGLCodes5', 'upgradeToHQ']);
});

test('one probe at a time goes out, and whoever comes meanwhile is refused at once', async () => {
  const { answerWith, ask, state, paths, gateway } = await startOpen(fine);
  const arrived = Promise.withResolvers<void>();
  const answering = Promise.withResolvers<void>();
  answerWith(async (response, it) => {
    arrived.resolve();
    await answering.promise;
    await fine(response, it);
  });
  letProbeBeDue();
  const probing = ask(write);
  await arrived.promise;
  expect(await state()).toBe(states.halfOpen);
  for (const query of [read, write, read, write]) expect(await ask(query)).toMatchObject(refused);
  expect(paths()).toHaveLength(11);

  answering.resolve();
  expect(await probing).toMatchObject({ __typename: 'WorkflowActionCompleted' });
  await metricIs(gateway, 'ledger_gateway_circuit_state', states.closed);
  expect(paths().slice(10)).toEqual(['getGLCodes5', 'upgradeToHQ']);
});

test('a probe whose caller goes away runs on, and closes it by its answer', async () => {
  const { answerWith, gateway, state, paths, ask } = await startOpen(fine);
  const arrived = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  answerWith(async (response, received) => {
    arrived.resolve();
    await release.promise;
    await fine(response, received);
  });
  letProbeBeDue();
  const leaving = new AbortController();
  const probing = fetch(`${gateway.url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${gateway.token}` },
    body: JSON.stringify({ query: read }),
    signal: leaving.signal,
  });
  await arrived.promise;
  leaving.abort();
  await expect(probing).rejects.toThrow();
  await metricIs(gateway, 'ledger_gateway_http_requests_total{status="499"}', 1);
  expect(await state()).toBe(states.halfOpen);

  release.resolve();
  await metricIs(gateway, 'ledger_gateway_circuit_state', states.closed);
  expect(paths()).toHaveLength(11);
  expect(await ask()).toMatchObject({ __typename: 'GlCodeList' });
});

test('however often probes failed, the next is due within four seconds', async () => {
  const { answerWith, ask, state, paths } = await startOpen(fault);
  for (let probe = 1; probe <= 12; probe++) {
    letProbeBeDue();
    expect(await ask()).toMatchObject({ code: 'UPSTREAM_FAILED' });
    expect(paths()).toHaveLength(10 + probe);
  }
  answerWith(fine);
  letProbeBeDue();
  await ask();
  expect(await state()).toBe(states.closed);
});

test('once closed it counts from nothing', async () => {
  const { answerWith, ask, read, state } = await startOpen(fine);
  letProbeBeDue();
  await ask();
  answerWith(fault);
  await read(9);
  expect(await state()).toBe(states.closed);
  await read(1);
  expect(await state()).toBe(states.open);
});

// Calls that began before.

/** A gateway with twenty writes that its service holds; `lose` breaks their connections. */
async function startHolding() {
  const sockets: Socket[] = [];
  const arrived = Promise.withResolvers<void>();
  let answer: Reply = fault;
  const it = await start((response, received) => {
    if (!received.url.startsWith('/upgradeToHQ')) return answer(response, received);
    if (response.socket) sockets.push(response.socket);
    if (sockets.length === 20) arrived.resolve();
  });
  const held = Array.from({ length: 20 }, () => it.ask(write));
  await arrived.promise;
  await it.read(10);
  expect(await it.state()).toBe(states.open);
  return {
    ...it,
    answerReadsWith(reply: Reply): void {
      answer = reply;
    },
    async lose(): Promise<void> {
      for (const socket of sockets) socket.resetAndDestroy();
      for (const outcome of await Promise.all(held)) {
        expect(outcome).toMatchObject({ __typename: 'LedgerOutcomeUnknown' });
      }
    },
  };
}

test('faults of calls that began before it opened do not open it again', async () => {
  const { answerReadsWith, read, state, lose, ask } = await startHolding();
  answerReadsWith(fine);
  letProbeBeDue();
  await read(1);
  expect(await state()).toBe(states.closed);
  await lose();
  expect(await state()).toBe(states.closed);
  expect(await ask()).toMatchObject({ __typename: 'GlCodeList' });
});

test('faults of calls that began before it opened do not decide about the probe', async () => {
  const { answerReadsWith, state, lose, ask } = await startHolding();
  const probe = Promise.withResolvers<void>();
  const probed = Promise.withResolvers<void>();
  answerReadsWith(async (response, received) => {
    probed.resolve();
    await probe.promise;
    await fine(response, received);
  });
  letProbeBeDue();
  const asked = ask();
  await probed.promise;
  await lose();
  expect(await state()).toBe(states.halfOpen);
  probe.resolve();
  expect(await asked).toMatchObject({ __typename: 'GlCodeList' });
  expect(await state()).toBe(states.closed);
});
