import { expect, test } from '@jest/globals';
import { read, startTestGateway, testIssuer, write } from '../helper.ts';
import { metricIs, never, readOf, startCalls, startHeldService, writeOf } from './held.ts';

const asText = (value: unknown) => JSON.stringify(value);

/** Calls of several callers to a service that holds its answers. */
async function start() {
  const service = await startHeldService();
  const calls = startCalls(service);
  return {
    service,
    calls,
    read: (token: string, project?: string, caller = never) =>
      calls.call(readOf(token, project), asText, caller),
    write: (token: string) => calls.call(writeOf(token), asText, never),
  };
}

test('equal reads of equal tokens in flight are one call', async () => {
  const { service, calls, read } = await start();
  const answers = [read('ada'), read('ada'), read('ada')];
  await service.arrived(1);
  answers.push(read('ada'));

  service.release();
  const [first, ...others] = await Promise.all(answers);
  for (const other of others) expect(other).toBe(first);
  expect(service.calls).toHaveLength(1);
  expect(calls.counts).toEqual({ attempted: 1, retried: 0, shared: 3 });
});

test('a read that begins after the answer is a call of its own', async () => {
  const { service, read } = await start();
  service.release();
  await read('ada');
  await read('ada');
  expect(service.calls).toHaveLength(2);
});

test('different tokens never share', async () => {
  const { service, calls, read } = await start();
  const answers = ['ada', 'bob', 'ad', 'ada2', ''].map((token) => read(token));
  await service.arrived(answers.length);
  service.release();
  await Promise.all(answers);
  expect(calls.counts.shared).toBe(0);
  expect(new Set(service.calls.map(({ received }) => received.headers.authorization)).size).toBe(5);
});

test('different queries never share, however their values are bent', async () => {
  const { service, calls, read } = await start();
  const answers = [
    'north',
    'north ada',
    'north&includeHide=true',
    'north%26',
    ' north',
    'North',
    '',
  ].map((project) => read('ada', project));
  const { search = '', ...request } = readOf('ada');
  for (const other of [search.replace('false', 'true'), search.replace('target=5', 'target=4')]) {
    answers.push(calls.call({ ...request, search: other }, asText, never));
  }
  await service.arrived(answers.length);
  service.release();
  await Promise.all(answers);
  expect(calls.counts.shared).toBe(0);
  expect(new Set(service.calls.map(({ received }) => received.url)).size).toBe(answers.length);
});

test('writes never share', async () => {
  const { service, calls, write } = await start();
  const answers = [write('ada'), write('ada')];
  await service.arrived(2);
  service.release();
  await Promise.all(answers);
  expect(calls.counts.shared).toBe(0);
});

test.each(['ada', 'bob'])(
  'a read that begins after a write of %s began does not share one from before',
  async (writer) => {
    const { service, calls, read, write } = await start();
    const before = read('ada');
    await service.arrived(1);
    const writing = write(writer);
    const during = read('ada');
    await service.arrived(3);

    service.release();
    await Promise.all([before, writing, during]);
    expect(calls.counts.shared).toBe(0);
  },
);

test('a read that begins after a write ended does not share one from during it', async () => {
  const { service, calls, read, write } = await start();
  const writing = write('ada');
  const sent = await service.arrived(1);
  const during = read('ada');
  await service.arrived(2);
  sent.answer();
  await writing;
  const after = read('ada');
  const again = read('ada');
  await service.arrived(3);

  service.release();
  await Promise.all([during, after, again]);
  // The two that began after the write share with each other.
  expect(calls.counts.shared).toBe(1);
  expect(service.calls).toHaveLength(3);
});

test('a write that was refused ends sharing as well', async () => {
  const { service, calls, read } = await start();
  const before = read('ada');
  await service.arrived(1);
  const refused = calls.call(
    writeOf('ada'),
    () => {
      throw new Error('cannot be read');
    },
    never,
  );
  (await service.arrived(2)).answer();
  await expect(refused).rejects.toThrow();
  const after = read('ada');
  await service.arrived(3);
  service.release();
  await Promise.all([before, after]);
  expect(calls.counts.shared).toBe(0);
});

test('one caller who leaves does not end the call for the others', async () => {
  const { service, calls, read } = await start();
  const leaving = new AbortController();
  const left = read('ada', 'north', leaving.signal);
  const stays = read('ada');
  const call = await service.arrived(1);
  leaving.abort();

  call.answer();
  expect(await stays).toContain('service_status');
  await Promise.allSettled([left]);
  expect(service.calls).toHaveLength(1);
  expect(calls.counts).toMatchObject({ attempted: 1, shared: 1 });
});

test('the last caller who leaves ends the call at the service', async () => {
  const { service, calls, read } = await start();
  const leaving = [new AbortController(), new AbortController()];
  const left = leaving.map(({ signal }) => read('ada', 'north', signal));
  const { response } = await service.arrived(1);
  for (const caller of leaving) caller.abort();

  for (const { status, ...rest } of await Promise.allSettled(left)) {
    expect(status).toBe('rejected');
    expect(rest).toMatchObject({ reason: { code: 'CLIENT_GONE' } });
  }
  await service.idle();
  expect(response.writableFinished).toBe(false);
  expect(calls.now()).toMatchObject({ inFlight: 0 });
});

test('a read that begins as the last caller leaves is a call of its own', async () => {
  const { service, read } = await start();
  const leaving = new AbortController();
  const left = expect(read('ada', 'north', leaving.signal)).rejects.toMatchObject({
    code: 'CLIENT_GONE',
  });
  await service.arrived(1);
  leaving.abort();
  const stays = read('ada');
  const call = await service.arrived(2);
  call.answer();
  expect(await stays).toContain('service_status');
  await left;
});

test('a read whose caller left before it began does not stay until its deadline', async () => {
  const service = await startHeldService();
  const calls = startCalls(service, { timeoutMs: 500 });
  const left = calls.call(readOf('ada'), asText, AbortSignal.abort());
  await expect(left).rejects.toMatchObject({ code: 'CLIENT_GONE' });
  expect(calls.now()).toMatchObject({ inFlight: 0 });
});

test('a failure is the failure of all who share it, and of nobody after', async () => {
  const { service, read } = await start();
  const failing = [read('ada'), read('ada')];
  const { response } = await service.arrived(1);
  response.writeHead(500).end();
  for (const { status, ...rest } of await Promise.allSettled(failing)) {
    expect(status).toBe('rejected');
    expect(rest).toMatchObject({ reason: { code: 'UPSTREAM_FAILED' } });
  }
  service.release();
  await read('ada');
  expect(service.calls).toHaveLength(2);
});

// Through the gateway.

const shared = 'ledger_gateway_calls_shared_total';

test('requests of one token share a call, and each gets the answer in its own shape', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const first = gateway.graphql(read);
  await service.arrived(1);
  const second = gateway.graphql(
    '{ other: glCodes(target: EMAIL, project: "north") { __typename } }',
  );
  await metricIs(gateway, shared, 1);

  service.release();
  expect((await first).data).toEqual({ result: { __typename: 'GlCodeList', codes: [] } });
  expect((await second).data).toEqual({ other: { __typename: 'GlCodeList' } });
  expect(service.calls).toHaveLength(1);
});

test('requests of different tokens are different calls, each with its own token', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const { token } = await testIssuer();
  const tokens = await Promise.all(['ada', 'bob'].map((sub) => token({ sub })));
  const asked = tokens.map((bearer) =>
    gateway.graphql(read, {}, { authorization: `Bearer ${bearer}` }),
  );
  await service.arrived(2);
  service.release();
  await Promise.all(asked);
  expect(service.calls.map(({ received }) => received.headers.authorization).sort()).toEqual(
    tokens.map((bearer) => `Bearer ${bearer}`).sort(),
  );
});

test('a request that read, wrote and reads again gets an answer from after its write', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const before = gateway.graphql(read);
  await service.arrived(1);
  const writing = gateway.graphql(write);
  (await service.arrived(2)).answer();
  await writing;
  const after = gateway.graphql(read);
  await service.arrived(3);
  service.release();
  await Promise.all([before, after]);
  expect(service.calls).toHaveLength(3);
});
