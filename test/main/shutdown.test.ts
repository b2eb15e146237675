import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { closeAfterTest } from '../support/cleanup.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { read, write, writes } from '../support/graphql-operation.ts';
import { startHeldService } from '../support/held-service.ts';
import { connectTo } from '../support/raw-request.ts';

/** Starts the gateway as in production, with an HTTP client that a test can disconnect. */
async function startGateway(service: { url: string }, variables?: Record<string, string>) {
  const gateway = await startGatewayProcess(service, { LOG_LEVEL: 'info', ...variables });
  const get = (path: string) =>
    new Promise<number>((resolve) => {
      request(`${gateway.url}${path}`, { agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      })
        .once('error', () => resolve(0))
        .end();
    });
  return {
    ...gateway,
    /** The status of a path, or 0 if the port is closed. Each request has a connection of its own. */
    get,
    /** Waits until the port is closed. There is no event for it, so this polls every 10 ms. */
    async portClosed() {
      while ((await get('/livez')) !== 0) await sleep(10);
    },
    /** Posts a GraphQL operation. */
    async post(
      query: string,
      options: { agent?: Agent; signal?: AbortSignal; requestId?: string } = {},
    ): Promise<{ status: number; data: Record<string, unknown> | null }> {
      const { agent, signal, requestId = 'request-1' } = options;
      const posted = request(`${gateway.url}/graphql`, {
        method: 'POST',
        agent: agent ?? false,
        ...(signal && { signal }),
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${gateway.token}`,
          'x-request-id': requestId,
        },
      });
      posted.end(JSON.stringify({ query }));
      const [response] = await once(posted, 'response');
      const { data } = z
        .object({ data: z.record(z.string(), z.unknown()).nullish() })
        .parse(JSON.parse(await text(response)));
      return { status: response.statusCode, data: data ?? null };
    },
  };
}

const draining = { msg: 'draining' };
const readResponse = { status: 200, data: { result: { __typename: 'GlCodeList', codes: [] } } };
const writeResponse = {
  status: 200,
  data: { result: expect.objectContaining({ __typename: 'WorkflowActionCompleted' }) },
};

test('after SIGTERM the gateway is not ready, serves requests for SHUTDOWN_DELAY_MS, and exits with 0 when all have responses', async () => {
  const service = await startHeldService();
  const gateway = await startGateway(service, { SHUTDOWN_DELAY_MS: '2000' });
  const connectionOf = async () => (await fetch(`${gateway.url}/livez`)).headers.get('connection');
  expect(await gateway.get('/readyz')).toBe(200);
  expect(await connectionOf()).toBe('keep-alive');
  const inFlight = [gateway.post(read), gateway.post(write)];
  await service.arrived(2);

  gateway.signal('SIGTERM');
  const start = performance.now();
  await gateway.logLine(draining);
  const duringDelay = [gateway.post(read), gateway.post(write)];
  for (const { respond } of [await service.arrived(3), await service.arrived(4)]) respond();
  expect(await Promise.all(duringDelay)).toEqual([readResponse, writeResponse]);
  expect(await gateway.get('/readyz')).toBe(503);
  expect(await gateway.get('/metrics')).toBe(200);
  expect(await connectionOf()).toBe('close');

  await gateway.portClosed();
  expect(performance.now() - start).toBeGreaterThan(1900);
  service.release();
  expect(await Promise.all(inFlight)).toEqual([readResponse, writeResponse]);
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
});

test('requests that still arrive extend the delay, to four times SHUTDOWN_DELAY_MS', async () => {
  const service = await startHeldService();
  service.release();
  const gateway = await startGateway(service, { SHUTDOWN_DELAY_MS: '1000' });
  await gateway.post(read); // The first request takes longest, on a busy machine longer than the delay.
  gateway.signal('SIGTERM');
  await gateway.logLine(draining);
  const start = performance.now();
  let lastServedMs = 0;
  for (;;) {
    const sentMs = performance.now() - start;
    const response = await gateway.post(read).catch(() => undefined);
    if (response === undefined) break;
    expect(response).toEqual(readResponse);
    lastServedMs = sentMs;
    await sleep(100); // Without a pause, it would keep a core busy.
  }
  expect(lastServedMs).toBeGreaterThan(1500);
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
});

test('connections that are idle, have just received a response, or have not sent a request do not delay the exit', async () => {
  const service = await startHeldService();
  const gateway = await startGateway(service, { SHUTDOWN_TIMEOUT_MS: '4000' });
  for (const sent of ['', 'POST /graphql HT']) {
    const socket = connectTo(gateway.url);
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(sent);
  }
  const agent = new Agent({ keepAlive: true });
  closeAfterTest(async () => agent.destroy());
  const idle = gateway.post(read, { agent });
  (await service.arrived(1)).respond();
  await idle;
  const inFlight = [gateway.post(write, { agent }), gateway.post(write, { agent })];
  await service.arrived(3);

  gateway.signal('SIGTERM');
  await gateway.logLine(draining);
  await gateway.portClosed();
  service.release();
  expect(await Promise.all(inFlight)).toEqual([writeResponse, writeResponse]);
  const start = performance.now();
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
  expect(performance.now() - start).toBeLessThan(3000);
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

test('a second signal ends the process at once, and logs the write in flight', async () => {
  const service = await startHeldService();
  const gateway = await startGateway(service, { SHUTDOWN_DELAY_MS: '60000' });
  const lost = expect(gateway.post(write)).rejects.toThrow();
  await service.arrived(1);
  gateway.signal('SIGTERM');
  await gateway.logLine(draining);
  gateway.signal('SIGTERM');
  expect(await gateway.exited).toEqual({ code: 1, signal: null });
  await lost;
  expect(gateway.logs).toContainEqual(expect.objectContaining(lostWrite));
});

test('SHUTDOWN_TIMEOUT_MS after the delay the process ends, and logs the write in flight', async () => {
  const service = await startHeldService();
  const gateway = await startGateway(service, {
    SHUTDOWN_DELAY_MS: '300',
    SHUTDOWN_TIMEOUT_MS: '500',
    UPSTREAM_TIMEOUT_MS: '60000',
  });
  const lost = expect(gateway.post(write)).rejects.toThrow();
  await service.arrived(1);
  const start = performance.now();
  gateway.signal('SIGTERM');
  expect(await gateway.exited).toEqual({ code: 1, signal: null });
  const ms = performance.now() - start;
  expect(ms).toBeGreaterThan(750);
  expect(ms).toBeLessThan(3000);
  await lost;
  expect(gateway.logs).toContainEqual(expect.objectContaining(lostWrite));
});

test('after a client disconnects, the writes of its operation are finished and logged before the exit', async () => {
  const service = await startHeldService();
  const gateway = await startGateway(service);
  const client = new AbortController();
  const lost = gateway.post(
    `mutation { a: ${writes.restartWorkflow2} b: ${writes.saveApproverList} c: ${writes.upgradeToHQ} }`,
    { signal: client.signal, requestId: 'disconnected-1' },
  );
  const first = await service.arrived(1);
  client.abort();
  await expect(lost).rejects.toThrow();
  await gateway.logLine({ outcome: 'CLIENT_DISCONNECTED' });
  gateway.signal('SIGTERM');
  await gateway.portClosed();

  first.respond();
  const others = service.arrived(3).then(() => 'sent');
  (await Promise.race([service.arrived(2), gateway.exited.then(() => undefined)]))?.respond();
  await Promise.race([others, gateway.exited]);
  service.release();
  expect(await gateway.exited).toEqual({ code: 0, signal: null });
  const outcomes = gateway.logs
    .filter(({ msg, requestId }) => msg === 'call' && requestId === 'disconnected-1')
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
