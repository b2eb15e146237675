import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { read, write, writes } from '../support/graphql-operation.ts';
import { startHeldService, success } from '../support/held-service.ts';
import { connectTo, requestOf } from '../support/raw-request.ts';
import { json, startService } from '../support/service.ts';

/** The status of a path, or 0 if the port is closed. */
async function get(gateway: { url: string }, path: string): Promise<number> {
  try {
    const response = await fetch(gateway.url + path);
    await response.text();
    return response.status;
  } catch {
    return 0;
  }
}

/** Waits until a path has a status. There is no event for it, so this polls every 10 ms. */
async function becomes(gateway: { url: string }, path: string, status: number): Promise<void> {
  while ((await get(gateway, path)) !== status) await sleep(10);
}

const portClosed = (gateway: { url: string }) => becomes(gateway, '/livez', 0);

const draining = { msg: 'draining' };

/** Starts the gateway as in production. The others of this file run in the process of the tests. */
async function startGateway(
  service: { url: string },
  variables: Record<string, string>,
  nodeOptions: string[] = [],
) {
  const settings = { LOG_LEVEL: 'info', ...variables };
  const gateway = await startGatewayProcess(service, settings, nodeOptions);
  const headers = { authorization: `Bearer ${gateway.token}`, 'x-request-id': 'request-1' };
  const post = async (query: string) => (await gateway.post({ query }, headers)).text;
  return { ...gateway, post };
}

test('after SIGTERM the gateway is not ready, serves requests for SHUTDOWN_DELAY_MS, and exits with 0 when all have responses', async () => {
  const service = await startHeldService();
  const gateway = await startGateway(service, { SHUTDOWN_DELAY_MS: '1000' });
  const connectionOf = async () => (await fetch(`${gateway.url}/livez`)).headers.get('connection');
  await becomes(gateway, '/readyz', 200); // It has fetched the keys of its issuer.
  expect(await connectionOf()).toBe('keep-alive');
  const inFlight = [gateway.post(read), gateway.post(write)];
  await service.arrived(2);

  gateway.signal('SIGTERM');
  const start = performance.now();
  await gateway.logLine(draining);
  const duringDelay = [gateway.post(read), gateway.post(write)];
  for (const { respond } of [await service.arrived(3), await service.arrived(4)]) respond();
  const responses = [/GlCodeList/, /WorkflowActionCompleted/].map((text) =>
    expect.stringMatching(text),
  );
  expect(await Promise.all(duringDelay)).toEqual(responses);
  const paths = ['/readyz', '/livez', '/metrics'];
  expect(await Promise.all(paths.map((path) => get(gateway, path)))).toEqual([503, 200, 200]);
  expect(await connectionOf()).toBe('close');

  await portClosed(gateway);
  expect(performance.now() - start).toBeGreaterThan(950);
  service.release();
  expect(await Promise.all(inFlight)).toEqual(responses);
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
  expect(gateway.logs.at(-1)).toMatchObject({ msg: 'closed' });
});

test('requests that still arrive extend the delay, to four times SHUTDOWN_DELAY_MS', async () => {
  const variables = { SHUTDOWN_DELAY_MS: '300' };
  const gateway = await startTestGateway(await startService(success), variables);
  await gateway.graphql(read); // The first request takes longer than the others.
  const start = performance.now();
  const closed = gateway.close();
  let lastServedMs = 0;
  for (;;) {
    const sentMs = performance.now() - start;
    const response = await gateway.graphql(read).catch(() => undefined);
    if (response === undefined) break;
    expect(response.data.result.__typename).toBe('GlCodeList');
    lastServedMs = sentMs;
    await sleep(50); // Without a pause, it would keep a core busy.
  }
  expect(lastServedMs).toBeGreaterThan(450);
  await closed;
});

test('connections that are idle, have just received a response, or have not sent a request do not delay the exit', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  for (const sent of ['', 'POST /graphql HT']) {
    const socket = connectTo(gateway.url).on('error', () => {});
    await once(socket, 'connect');
    socket.write(sent);
  }
  const idle = gateway.graphql(read);
  (await service.arrived(1)).respond();
  await idle; // Its connection is kept.
  const inFlight = [gateway.graphql(write), gateway.graphql(write)];
  await service.arrived(3);

  const closed = gateway.close();
  await portClosed(gateway);
  service.release();
  for (const { data } of await Promise.all(inFlight)) {
    expect(data.result.__typename).toBe('WorkflowActionCompleted');
  }
  const start = performance.now();
  await closed;
  expect(performance.now() - start).toBeLessThan(3000);
});

test('a client that does not read its response does not keep the port open', async () => {
  const status = { status: 0, message: 'x'.repeat(1_000_000) };
  const gateway = await startTestGateway(await startService(json({ service_status: status })));
  const messages = Array.from({ length: 20 }, (_, n) => `a${n}: message`).join(' ');
  const query = `{ glCodes(target: EMAIL, project: "north") { ... on GlCodeList { ${messages} } } }`;
  const unread = connectTo(gateway.url).pause();
  unread.write(requestOf(gateway, query));
  await gateway.logLine({ msg: 'call' });
  const closed = gateway.close();
  await portClosed(gateway);
  expect(unread.destroyed).toBe(false);
  unread.destroy();
  await closed;
});

/** The log line of a write that a forced exit interrupts. */
const lostWrite = {
  level: 40,
  msg: 'call',
  requestId: 'request-1',
  operation: 'upgradeToHQ',
  outcome: 'UNKNOWN',
  fault: 'process exited',
};

test.each([
  ['a second signal', { SHUTDOWN_DELAY_MS: '60000' }, 0],
  ['SHUTDOWN_TIMEOUT_MS', { SHUTDOWN_DELAY_MS: '300', SHUTDOWN_TIMEOUT_MS: '500' }, 750],
])('%s ends the process, and logs the write in flight', async (_, variables, minMs) => {
  const service = await startHeldService();
  const gateway = await startGateway(service, { UPSTREAM_TIMEOUT_MS: '60000', ...variables });
  const lost = expect(gateway.post(write)).rejects.toThrow();
  await service.arrived(1);
  const start = performance.now();
  gateway.signal('SIGTERM');
  await gateway.logLine(draining);
  if (minMs === 0) gateway.signal('SIGTERM');
  expect(await gateway.exited).toEqual({ code: 1, signal: null });
  const ms = performance.now() - start;
  expect(ms).toBeGreaterThan(minMs);
  expect(ms).toBeLessThan(3000);
  await lost;
  expect(gateway.logs).toContainEqual(expect.objectContaining(lostWrite));
});

test.each([
  ['an uncaught exception', 'throw error'],
  ['an unhandled rejection', 'Promise.reject(error)'],
])('%s ends the process at once, and logs the write in flight', async (_, fail) => {
  const script = `process.on('SIGWINCH', () => { const error = new Error('a bug'); ${fail} })`;
  const service = await startHeldService();
  const gateway = await startGateway(service, {}, ['--import', `data:text/javascript,${script}`]);
  const lost = expect(gateway.post(write)).rejects.toThrow();
  await service.arrived(1);
  gateway.signal('SIGWINCH');
  expect(await gateway.exited).toEqual({ code: 1, signal: null });
  await lost;
  const error = { name: 'Error', message: 'a bug', stack: expect.stringContaining('at ') };
  const fatal = { level: 60, msg: 'unexpected error', error };
  expect(gateway.logs.slice(-2)).toMatchObject([fatal, lostWrite]);
});

test('after a client disconnects, the writes of its operation are finished and logged before the exit', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const client = new AbortController();
  const query = `mutation { a: ${writes.restartWorkflow2} b: ${writes.saveApproverList} c: ${writes.upgradeToHQ} }`;
  const lost = expect(gateway.post({ query }, {}, client.signal)).rejects.toThrow();
  const first = await service.arrived(1);
  client.abort();
  await lost;
  await gateway.logLine({ outcome: 'CLIENT_DISCONNECTED' });
  const closed = gateway.close();
  await portClosed(gateway);

  first.respond();
  for (const n of [2, 3]) (await service.arrived(n)).respond();
  await closed;
  const outcomes = gateway.logs
    .filter(({ msg }) => msg === 'call')
    .map(({ operation, outcome, level, clientDisconnected }) => [
      operation,
      outcome,
      level,
      clientDisconnected,
    ]);
  // Every write that was sent has its outcome in the log.
  expect(outcomes).toEqual(
    service.requests.map(({ received }) => [received.url.slice(1), 'answered', 40, true]),
  );
  expect(outcomes).toHaveLength(3);
  expect(first.response.writableFinished).toBe(true);
});

test('a write whose client has reset the connection is finished and logged before the exit', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const client = connectTo(gateway.url);
  client.write(requestOf(gateway, write));
  const { respond } = await service.arrived(1);
  client.resetAndDestroy();
  await gateway.logLine({ outcome: 'CLIENT_DISCONNECTED' });
  const closed = gateway.close();
  await portClosed(gateway);
  setTimeout(respond, 300); // Nothing shows that the gateway waits but that it has not closed yet.
  await closed;
  expect(gateway.logs).toContainEqual(
    expect.objectContaining({ msg: 'call', outcome: 'answered' }),
  );
});
