import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import {
  closeAfterTest,
  closedPort,
  type LogLine,
  read,
  testIssuer,
  write,
  writes,
} from './helper.ts';
import { startHeldService } from './upstream/held.ts';

/** The process as in production: `node src/main.ts` and its environment. */
async function startProcess(service: { url: string }, variables: Record<string, string> = {}) {
  const { jwksUrl, issuer, audience, token } = await testIssuer();
  const child: ChildProcess = spawn(process.execPath, ['src/main.ts'], {
    env: {
      HOST: '127.0.0.1',
      PORT: '0',
      UPSTREAM_BASE_URL: service.url,
      JWT_JWKS_URL: jwksUrl,
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: audience,
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit').then(([code, signal]: unknown[]) => ({ code, signal }));
  closeAfterTest(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  if (!child.stdout) throw new Error('no output');

  const logs: LogLine[] = [];
  const lines = createInterface(child.stdout);
  lines.on('line', (line) => logs.push(z.looseObject({}).parse(JSON.parse(line))));
  async function logLine(fits: (line: LogLine) => boolean): Promise<LogLine> {
    for (;;) {
      const found = logs.find(fits);
      if (found) return found;
      await once(lines, 'line');
    }
  }
  const { msg } = await logLine((line) => String(line.msg).startsWith('Server listening at'));
  const url = String(msg).replace('Server listening at ', '');
  const bearer = await token();
  // It listens a moment before it minds signals.
  await fetch(`${url}/livez`);

  return {
    url,
    logs,
    logLine,
    signal: (name: NodeJS.Signals) => child.kill(name),
    /** How it ended. */
    ended,
    /** The status of a path; 0 where nobody listens. Each time on a connection of its own. */
    async get(path: string): Promise<number> {
      return new Promise((resolve) => {
        request(`${url}${path}`, { agent: false }, (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        })
          .once('error', () => resolve(0))
          .end();
      });
    },
    /** Posts an operation. */
    async post(
      query: string,
      options: { agent?: Agent; signal?: AbortSignal; requestId?: string } = {},
    ): Promise<{ status: number; data: Record<string, unknown> | null }> {
      const { agent, signal, requestId = 'drain-1' } = options;
      const sent = request(`${url}/graphql`, {
        method: 'POST',
        agent: agent ?? false,
        ...(signal && { signal }),
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${bearer}`,
          'x-request-id': requestId,
        },
      });
      sent.end(JSON.stringify({ query }));
      const [response] = await once(sent, 'response');
      const { data } = z
        .object({ data: z.record(z.string(), z.unknown()).nullish() })
        .parse(JSON.parse(await text(response)));
      return { status: response.statusCode, data: data ?? null };
    },
  };
}

const draining = (line: LogLine) => line.msg === 'draining';
const fineRead = { status: 200, data: { result: { __typename: 'GlCodeList', codes: [] } } };
const fineWrite = {
  status: 200,
  data: { result: expect.objectContaining({ __typename: 'WorkflowActionCompleted' }) },
};

test('SIGTERM turns readiness off, and what is in flight is answered before it exits with 0', async () => {
  const service = await startHeldService();
  const gateway = await startProcess(service, { SHUTDOWN_DELAY_MS: '1000' });
  expect(await gateway.get('/readyz')).toBe(200);
  const slow = [gateway.post(read), gateway.post(write)];
  await service.arrived(2);

  gateway.signal('SIGTERM');
  await gateway.logLine(draining);
  expect(await gateway.get('/readyz')).toBe(503);
  expect(await gateway.get('/livez')).toBe(200);
  expect(await gateway.get('/metrics')).toBe(200);

  service.release();
  expect(await Promise.all(slow)).toEqual([fineRead, fineWrite]);
  expect(await gateway.ended).toEqual({ code: 0, signal: null });
});

test('new requests are served until SHUTDOWN_DELAY_MS is over, and nobody listens after it', async () => {
  const service = await startHeldService();
  const gateway = await startProcess(service, { SHUTDOWN_DELAY_MS: '800' });
  const slow = gateway.post(write);
  const call = await service.arrived(1);
  gateway.signal('SIGTERM');
  const start = performance.now();
  await gateway.logLine(draining);

  const early = [gateway.post(read), gateway.post(write)];
  for (const { answer } of [await service.arrived(2), await service.arrived(3)]) answer();
  expect(await Promise.all(early)).toEqual([fineRead, fineWrite]);

  while ((await gateway.get('/readyz')) === 503);
  expect(await gateway.get('/readyz')).toBe(0);
  expect(performance.now() - start).toBeGreaterThan(700);
  call.answer();
  expect(await slow).toEqual(fineWrite);
  expect(await gateway.ended).toEqual({ code: 0, signal: null });
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends a process that has nothing to do',
  async (name) => {
    const service = await startHeldService();
    const gateway = await startProcess(service);
    gateway.signal(name);
    expect(await gateway.ended).toEqual({ code: 0, signal: null });
    expect(gateway.logs.at(-1)).toMatchObject({ msg: 'closed' });
  },
);

test('a connection that is kept does not hold the exit, whether it idles or has just been answered', async () => {
  const service = await startHeldService();
  const gateway = await startProcess(service, { SHUTDOWN_TIMEOUT_MS: '4000' });
  const agent = new Agent({ keepAlive: true });
  closeAfterTest(async () => agent.destroy());
  const idle = gateway.post(read, { agent });
  (await service.arrived(1)).answer();
  await idle;
  const answered = gateway.post(write, { agent });
  const busy = gateway.post(write, { agent });
  await service.arrived(3);

  gateway.signal('SIGTERM');
  await gateway.logLine(draining);
  while ((await gateway.get('/livez')) === 200);
  service.release();
  expect(await Promise.all([answered, busy])).toEqual([fineWrite, fineWrite]);
  const start = performance.now();
  expect(await gateway.ended).toEqual({ code: 0, signal: null });
  expect(performance.now() - start).toBeLessThan(3000);
});

test.each(['', 'POST /graphql HT'])(
  'a connection that only ever sent "%s" does not hold the exit',
  async (sent) => {
    const service = await startHeldService();
    const gateway = await startProcess(service, { SHUTDOWN_TIMEOUT_MS: '5000' });
    const socket = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    socket.on('error', () => {});
    closeAfterTest(async () => socket.destroy());
    await once(socket, 'connect');
    socket.write(sent);
    expect(await gateway.get('/livez')).toBe(200);
    gateway.signal('SIGTERM');
    expect(await gateway.ended).toEqual({ code: 0, signal: null });
  },
);

test('a second signal ends it at once', async () => {
  const service = await startHeldService();
  const gateway = await startProcess(service, { SHUTDOWN_DELAY_MS: '60000' });
  const lost = expect(gateway.post(write)).rejects.toThrow();
  await service.arrived(1);
  gateway.signal('SIGTERM');
  await gateway.logLine(draining);
  gateway.signal('SIGTERM');
  expect(await gateway.ended).toEqual({ code: 1, signal: null });
  await lost;
});

test('SHUTDOWN_TIMEOUT_MS, counted from the end of the delay, ends it', async () => {
  const service = await startHeldService();
  const gateway = await startProcess(service, {
    SHUTDOWN_DELAY_MS: '300',
    SHUTDOWN_TIMEOUT_MS: '500',
    UPSTREAM_TIMEOUT_MS: '60000',
  });
  const lost = expect(gateway.post(write)).rejects.toThrow();
  await service.arrived(1);
  const start = performance.now();
  gateway.signal('SIGTERM');
  expect(await gateway.ended).toEqual({ code: 1, signal: null });
  const ms = performance.now() - start;
  expect(ms).toBeGreaterThan(750);
  expect(ms).toBeLessThan(3000);
  await lost;
});

test('a write whose caller has gone is finished and logged before it exits', async () => {
  const service = await startHeldService();
  const gateway = await startProcess(service);
  const leaving = new AbortController();
  const left = gateway.post(write, { signal: leaving.signal, requestId: 'gone-1' });
  const call = await service.arrived(1);
  leaving.abort();
  await expect(left).rejects.toThrow();
  await gateway.logLine((line) => line.outcome === 'CLIENT_GONE');

  gateway.signal('SIGTERM');
  while ((await gateway.get('/livez')) === 200);
  call.answer();
  expect(await gateway.ended).toEqual({ code: 0, signal: null });
  expect(call.response.writableFinished).toBe(true);
  expect(gateway.logs).toContainEqual(
    expect.objectContaining({ level: 40, requestId: 'gone-1', outcome: 'answered' }),
  );
});

test('the later writes of an operation whose caller has gone are finished before it exits', async () => {
  const service = await startHeldService();
  const gateway = await startProcess(service);
  const leaving = new AbortController();
  const left = gateway.post(
    `mutation { a: ${writes.restartWorkflow2} b: ${writes.saveApproverList} c: ${writes.upgradeToHQ} }`,
    { signal: leaving.signal, requestId: 'gone-3' },
  );
  const first = await service.arrived(1);
  leaving.abort();
  await expect(left).rejects.toThrow();
  await gateway.logLine((line) => line.outcome === 'CLIENT_GONE');
  gateway.signal('SIGTERM');
  while ((await gateway.get('/livez')) === 200);

  first.answer();
  const others = service.arrived(3).then(() => 'sent');
  (await Promise.race([service.arrived(2), gateway.ended.then(() => undefined)]))?.answer();
  await Promise.race([others, gateway.ended]);
  service.release();
  expect(await gateway.ended).toEqual({ code: 0, signal: null });
  const outcomes = gateway.logs
    .filter(({ msg, requestId }) => msg === 'call' && requestId === 'gone-3')
    .map(({ operation, outcome, level }) => [operation, outcome, level]);
  // What was sent has an outcome in the log; nothing is broken off between the two.
  expect(outcomes).toEqual(
    service.calls.map(({ received }) => [received.url.slice(1), 'answered', 40]),
  );
  expect(outcomes).toHaveLength(3);
});

test('a log that cannot be written takes nothing but the log', async () => {
  const { jwksUrl, issuer, audience } = await testIssuer();
  const port = await closedPort();
  const full = await open('/dev/full', 'w');
  const child = spawn(process.execPath, ['src/main.ts'], {
    env: {
      HOST: '127.0.0.1',
      PORT: String(port),
      UPSTREAM_BASE_URL: 'http://127.0.0.1:9/',
      JWT_JWKS_URL: jwksUrl,
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: audience,
    },
    stdio: ['ignore', full.fd, 'inherit'],
  });
  const ended = once(child, 'exit');
  closeAfterTest(async () => {
    child.kill('SIGKILL');
    await full.close();
  });
  const ask = (path: string) =>
    fetch(`http://127.0.0.1:${port}${path}`).then(
      ({ status }) => status,
      () => 0,
    );
  while ((await ask('/livez')) === 0);
  for (let n = 0; n < 300; n++) expect(await ask('/nothing')).toBe(404);
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
});
