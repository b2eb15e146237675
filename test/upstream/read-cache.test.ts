import { expect, jest, test } from '@jest/globals';
import { SingleFlight } from '../../../src/upstream/resilience/single-flight.ts';
import { startService } from '../../../testkit/service.ts';
import {
  glCodesOf,
  neverAborted,
  scopeOf,
  startCalls,
  upgradeToHq,
} from '../../support/upstream-call.ts';

/** Calls to a service that holds its responses. */
async function start() {
  const service = await startService();
  const { calls, counts } = startCalls(service);
  return {
    service,
    calls,
    counts,
    read: (token: string, project?: string, signal = neverAborted) =>
      calls.read(glCodesOf(project), scopeOf(token, signal)),
    write: (token: string) => calls.write(upgradeToHq, scopeOf(token)),
  };
}

const list = { status: 0, list: [] };

test('a read joins one of the latest thousand', () => {
  const flights = new SingleFlight();
  const onJoin = jest.fn();
  const read = (n: number) =>
    void flights.join(`${n}`, neverAborted, () => new Promise(() => {}), onJoin);
  for (let n = 0; n <= 1000; n++) read(n);
  for (const n of [1, 0]) read(n);
  expect(onJoin).toHaveBeenCalledTimes(1);
});

const { search = '', ...glCodes } = glCodesOf();
const searches = [
  search,
  search.replace('target=5', 'target=4'),
  search.replace('north', 'north+ada'),
  search.replace('false', 'true'),
];

test.each<[string, (parts: Awaited<ReturnType<typeof start>>) => Promise<unknown>[]]>([
  [
    'reads with different tokens',
    ({ read }) => ['ada', 'bob', 'ad', 'ada2', ''].map((t) => read(t)),
  ],
  [
    'reads with different queries',
    ({ calls }) => searches.map((search) => calls.read({ ...glCodes, search }, scopeOf('ada'))),
  ],
  ['writes', ({ write }) => [write('ada'), write('ada')]],
])('%s never share a call', async (_, send) => {
  const parts = await start();
  const results = send(parts);
  await parts.service.arrived(results.length);
  parts.service.release();
  await Promise.all(results);
  expect(parts.counts).toMatchObject({ attempted: results.length, shared: 0 });
});

test.each(['ada', 'bob'])(
  'a read joins none from before the start or the end of a write of %s',
  async (writer) => {
    const { service, counts, read, write } = await start();
    const before = read('ada');
    await service.arrived(1);
    const writing = write(writer);
    const sent = await service.arrived(2);
    const during = read('ada');
    await service.arrived(3);
    sent.respond();
    await writing;
    const after = [read('ada'), read('ada')];
    await service.arrived(4);
    service.release();
    await Promise.all([before, during, ...after]);
    // The two reads after the write share one call.
    expect([counts.shared, service.received.length]).toEqual([1, 4]);
  },
);

test('a client that disconnects does not cancel the call for the others', async () => {
  const { service, counts, read } = await start();
  const client = new AbortController();
  const disconnected = read('ada', 'north', client.signal);
  const other = read('ada');
  const request = await service.arrived(1);
  client.abort();

  request.respond();
  expect(await other).toMatchObject(list);
  await Promise.allSettled([disconnected]);
  expect(service.received).toHaveLength(1);
  expect(counts).toMatchObject({ attempted: 1, shared: 1 });
});

test('when its last client disconnects, a call is cancelled, and the next read is a new call', async () => {
  const { service, calls, read } = await start();
  const clients = [new AbortController(), new AbortController()];
  const reads = clients.map(({ signal }) => read('ada', 'north', signal));
  const { response } = await service.arrived(1);
  for (const client of clients) client.abort();
  const other = read('ada');

  const rejected = { status: 'rejected', reason: { code: 'CLIENT_DISCONNECTED' } };
  expect(await Promise.allSettled(reads)).toMatchObject([rejected, rejected]);
  (await service.arrived(2)).respond();
  expect(await other).toMatchObject(list);
  await service.idle();
  expect(response.writableFinished).toBe(false);
  expect(calls.admission.gate.held).toBe(0);
});

test('a read whose client has already disconnected is cancelled at once', async () => {
  const service = await startService();
  const { calls } = startCalls(service, { timeoutMs: 500 });
  const reading = calls.read(glCodesOf(), scopeOf('ada', AbortSignal.abort()));
  await expect(reading).rejects.toMatchObject({ code: 'CLIENT_DISCONNECTED' });
  expect(calls.admission.gate.held).toBe(0);
});

test('a failure is shared by the reads of one call, and not by later reads', async () => {
  const { service, read } = await start();
  const failing = [read('ada'), read('ada')];
  const { response } = await service.arrived(1);
  response.writeHead(500).end();
  const rejected = { status: 'rejected', reason: { code: 'UPSTREAM_FAILED' } };
  expect(await Promise.allSettled(failing)).toMatchObject([rejected, rejected]);
  service.release();
  await read('ada');
  expect(service.received).toHaveLength(2);
});
