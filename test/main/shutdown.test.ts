import { text } from 'node:stream/consumers';
import { setImmediate as immediate } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { eventually } from '../../testkit/eventually.ts';
import { speedUp } from '../../testkit/fast-timeouts.ts';
import { startGatewayProcess } from '../../testkit/gateway-process.ts';
import { read, write, writes } from '../../testkit/graphql-operation.ts';
import { metric } from '../../testkit/metric.ts';
import { json, startService, success } from '../../testkit/service.ts';
import { connectTo, requestOf } from '../support/raw-request.ts';
import { startHeldStack, startStack } from '../support/stack.ts';

/** Node's own global object, whose clock the tested modules use. */
declare const native: typeof globalThis;

/** The status of a path, or 0 if the port is closed. */
async function get({ url }: { url: string }, path: string): Promise<number> {
  const response = await fetch(url + path).catch(() => undefined);
  await response?.text();
  return response?.status ?? 0;
}

/** Waits until a path has a status. There is no event for it. */
const becomes = (gateway: { url: string }, path: string, status: number) =>
  eventually(async () => expect(await get(gateway, path)).toBe(status));

const portClosed = (gateway: { url: string }) => becomes(gateway, '/livez', 0);

const draining = { msg: 'draining' };

/** Starts the gateway as in production. The others of this file run in the process of the tests. */
async function startGateway(
  service: { url: string },
  variables: Record<string, string> = {},
  nodeOptions: string[] = [],
) {
  const settings = { LOG_LEVEL: 'info', ...variables };
  const gateway = await startGatewayProcess(service, settings, nodeOptions);
  const headers = { authorization: `Bearer ${gateway.token}`, 'x-request-id': 'request-1' };
  const post = async (query: string) => (await gateway.post({ query }, headers)).text;
  return { ...gateway, post };
}

/** The options of Node for a script that runs before the gateway. */
const importing = (script: string) => [
  '--import',
  `data:text/javascript,${encodeURIComponent(script)}`,
];

/** Stops the clock, and so the delay, from the shutdown until SIGWINCH. */
const stopClock = `
process.once('SIGTERM', () => { const now = performance.now(); performance.now = () => now; });
process.once('SIGWINCH', () => { delete performance.now; });`;

test('after SIGTERM the gateway is not ready, serves requests until the port closes, and exits with 0 when all have responses', async () => {
  const service = await startService();
  const gateway = await startGateway(service, { SHUTDOWN_DELAY_MS: '100' }, importing(stopClock));
  const connectionOf = async () => (await fetch(`${gateway.url}/livez`)).headers.get('connection');
  await becomes(gateway, '/readyz', 200); // It has fetched the keys of its issuer.
  expect(await connectionOf()).toBe('keep-alive');
  const inFlight = [gateway.post(read), gateway.post(write)];
  await service.arrived(2);

  gateway.signal('SIGTERM');
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

  gateway.signal('SIGWINCH');
  await portClosed(gateway);
  service.release();
  expect(await Promise.all(inFlight)).toEqual(responses);
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
  expect(gateway.logs.at(-1)).toMatchObject({ msg: 'closed' });
});

test('the port is open for SHUTDOWN_DELAY_MS, which requests that still arrive extend to four times that', async () => {
  const { gateway } = await startStack(success, { SHUTDOWN_DELAY_MS: '10' });
  const start = performance.now();
  const clock = jest.spyOn(native.performance, 'now').mockReturnValue(start);
  closeAfterTest(() => clock.mockRestore());
  const closed = gateway.close();
  expect(await get(gateway, '/livez')).toBe(200); // The delay has begun.
  for (const ms of [9, 18, 27, 36, 39]) {
    clock.mockReturnValue(start + ms);
    const { data } = await gateway.graphql(read);
    expect(data.result.__typename).toBe('GlCodeList');
  }
  clock.mockReturnValue(start + 40);
  await portClosed(gateway);
  await closed;
});

test('connections that are idle, have just received a response, or have not sent a request do not delay the exit', async () => {
  const { service, gateway } = await startHeldStack();
  const unused = ['', 'POST /graphql HT'].map((sent) => {
    const socket = connectTo(gateway.url);
    socket.write(sent);
    return text(socket);
  });
  const idle = gateway.graphql(read);
  (await service.arrived(1)).respond();
  await idle; // Its connection is kept.
  const inFlight = [gateway.graphql(write), gateway.graphql(write)];
  await service.arrived(3);

  const closed = gateway.close();
  await portClosed(gateway);
  // Without a 408, so it was not the timeout that closed them.
  expect(await Promise.all(unused)).toEqual(['', '']);
  service.release();
  for (const { data } of await Promise.all(inFlight)) {
    expect(data.result.__typename).toBe('WorkflowActionCompleted');
  }
  await closed;
});

test('a client that does not send its body does not prevent the exit', async () => {
  speedUp('setInterval', 5000, 10);
  const { gateway } = await startHeldStack();
  const slow = connectTo(gateway.url).on('error', () => {});
  slow.write(requestOf(gateway, read).slice(0, -1));
  const inProgress = () => metric(gateway, 'ledger_gateway_requests_in_progress');
  await eventually(async () => expect(await inProgress()).toBe(1));
  const closed = gateway.close();
  await portClosed(gateway);
  expect(slow.destroyed).toBe(false);
  const later = performance.now() + 2000;
  const clock = jest.spyOn(native.performance, 'now').mockReturnValue(later);
  closeAfterTest(() => clock.mockRestore());
  await closed;
});

test('a client that does not read its response does not keep the port open', async () => {
  const status = { status: 0, message: 'x'.repeat(1_000_000) };
  const { gateway } = await startStack(json({ service_status: status }));
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
const save = 'mutation { saveApprovers(approvers: [{ approverId: "17" }]) { __typename } }';
const lostWrite = {
  level: 40,
  msg: 'call',
  requestId: 'request-1',
  operation: 'saveApproverList',
  ids: { approver_id: ['17'] },
  outcome: 'UNKNOWN',
  fault: 'process exited',
};

const fatal = {
  level: 60,
  msg: 'unexpected error',
  error: { name: 'Error', message: 'a bug', stack: expect.stringContaining('at ') },
};
const failing = (fail: string) =>
  importing(`process.on('SIGWINCH', () => { const error = new Error('a bug'); ${fail} })`);

test.each<[string, NodeJS.Signals[], object[], Record<string, string>?, string[]?]>([
  ['a second signal', ['SIGTERM', 'SIGTERM'], [], { SHUTDOWN_DELAY_MS: '60000' }],
  ['SHUTDOWN_TIMEOUT_MS', ['SIGTERM'], [], { SHUTDOWN_TIMEOUT_MS: '500' }],
  ['an uncaught exception', ['SIGWINCH'], [fatal], {}, failing('throw error')],
  ['an unhandled rejection', ['SIGWINCH'], [fatal], {}, failing('Promise.reject(error)')],
])('%s ends the process, and logs the write in flight', async (...row) => {
  const [, signals, lines, variables, nodeOptions] = row;
  const service = await startService();
  const gateway = await startGateway(service, variables, nodeOptions);
  const lost = expect(gateway.post(save)).rejects.toThrow();
  await service.arrived(1);
  for (const signal of signals) {
    gateway.signal(signal);
    if (signal === 'SIGTERM') await gateway.logLine(draining);
  }
  expect(await gateway.exited).toEqual({ code: 1, signal: null });
  await lost;
  expect(gateway.logs.slice(-1 - lines.length)).toMatchObject([...lines, lostWrite]);
  const { requestId, ids } = lostWrite;
  expect(await gateway.logLine({ msg: 'sent', requestId })).toMatchObject({ ids });
});

test.each([
  ['closes', 'destroy', 3],
  ['resets', 'resetAndDestroy', 1],
] as const)(
  'after a client %s its connection, the writes of its operation are finished and logged before the exit',
  async (_, disconnect, count) => {
    const { service, gateway } = await startHeldStack();
    const fields = `a: ${writes.restartWorkflow2} b: ${writes.saveApproverList} c: ${writes.upgradeToHQ}`;
    const client = connectTo(gateway.url);
    client.write(requestOf(gateway, `mutation { ${fields} }`));
    const first = await service.arrived(1);
    client[disconnect]();
    await gateway.logLine({ outcome: 'CLIENT_DISCONNECTED' });
    const onClosed = jest.fn();
    const closed = gateway.close().then(onClosed);
    await portClosed(gateway);
    // Nothing shows that the gateway waits but that it has not closed yet.
    for (let n = 0; n < 100; n++) await immediate();
    expect(onClosed).not.toHaveBeenCalled();

    first.respond();
    for (let n = 2; n <= count; n++) (await service.arrived(n)).respond();
    await closed;
    // Every write that was sent has its outcome in the log.
    const common = { outcome: 'answered', level: 40, clientDisconnected: true };
    const lines = service.received.map(({ url }) => {
      return { operation: url.slice(1).split('?')[0], ...common };
    });
    expect(lines).toHaveLength(count);
    expect(gateway.logs.filter(({ msg }) => msg === 'call')).toMatchObject(lines);
    expect(first.response.writableFinished).toBe(true);
  },
);
