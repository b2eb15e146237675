import { execFileSync } from 'node:child_process';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { closeAfterTest } from '../support/cleanup.ts';
import { environmentFor } from '../support/environment.ts';
import { write } from '../support/graphql-operation.ts';
import { startHeldService } from '../support/held-service.ts';
import { testIssuer } from '../support/issuer.ts';
import { createLogRecorder } from '../support/log-recorder.ts';
import { metric } from '../support/metric.ts';
import { freePort } from '../support/port.ts';
import { startProcess } from '../support/process.ts';
import { exchange } from '../support/raw-request.ts';

/** More lines than a pipe and the gateway keep, with a request id of this length. */
const TOO_MANY_LINES = 5000;
const longId = 'x'.repeat(128);
/** Requests on one connection. */
const PIPELINE = 16;

/** Starts the gateway with this file descriptor as its standard output, in front of a service that responds. */
async function startWithOutput(stdout: number) {
  const service = await startHeldService();
  service.release();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = startProcess(['src/main.ts'], {
    env: await environmentFor(service, { PORT: String(port), LOG_LEVEL: 'info' }),
    stdout,
  });
  const { token } = await testIssuer();
  const authorization = `Bearer ${await token()}`;
  const isServing = () =>
    fetch(`${url}/livez`).then(
      () => true,
      () => false,
    );
  while (!(await isServing())) {
    if (!child.isRunning()) throw new Error(child.errorText());
    await sleep(20);
  }
  return {
    url,
    child,
    service,
    /** Sends requests in short pipelines, each of which causes a log line, and returns the number of responses. */
    async request(count: number): Promise<number> {
      const head = `GET /nothing HTTP/1.1\nhost: gateway\nx-request-id: ${longId}\n`;
      let responses = 0;
      for (let left = count; left > 0; left -= PIPELINE) {
        const length = Math.min(left, PIPELINE);
        const requests = `${`${head}\n`.repeat(length - 1)}${head}connection: close\n\n`;
        const received = await exchange(url, requests);
        responses += received.split('HTTP/1.1 404 Not Found').length - 1;
      }
      return responses;
    },
    async write(requestId: string): Promise<number> {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-request-id': requestId, authorization },
        body: JSON.stringify({ query: write }),
      });
      await response.text();
      return response.status;
    },
  };
}

/** A pipe that nobody reads until `read` is called. */
function createPipe() {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-test-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  // For reading and writing, because opening it for one of them waits for the other.
  const fd = openSync(path, 'r+');
  const reader = new Socket({ fd, writable: false });
  closeAfterTest(async () => {
    reader.destroy();
    rmSync(folder, { recursive: true });
  });
  const log = createLogRecorder();
  return {
    fd,
    reader,
    /** Starts to read the lines. */
    read() {
      createInterface(reader).on('line', log.add);
      return log;
    },
  };
}

test('a reader that stops reading the log blocks neither requests nor the exit, and dropped lines are counted and logged', async () => {
  const pipe = createPipe();
  const gateway = await startWithOutput(pipe.fd);
  expect(await gateway.request(TOO_MANY_LINES)).toBe(TOO_MANY_LINES);
  expect(await gateway.write('beside-a-stalled-reader')).toBe(200);
  expect(gateway.service.requests).toHaveLength(1);
  const dropped = await metric(gateway, 'ledger_gateway_log_lines_dropped_total');
  expect(dropped).toBeGreaterThan(0);

  const log = pipe.read();
  const line = await log.line({ msg: 'log lines dropped' });
  expect(line).toMatchObject({ level: 40, dropped: expect.any(Number) });
  expect(Number(line.dropped)).toBeGreaterThanOrEqual(dropped);
  await gateway.write('after-the-stall');
  await log.line({ msg: 'sent', requestId: 'after-the-stall' });

  pipe.reader.pause();
  expect(await gateway.request(TOO_MANY_LINES)).toBe(TOO_MANY_LINES);
  gateway.child.signal('SIGTERM');
  expect(await gateway.child.exited).toEqual({ code: 0, signal: null });
});

test('a reader that is slow but keeps up gets every line about writes', async () => {
  const pipe = createPipe();
  const gateway = await startWithOutput(pipe.fd);
  const log = pipe.read();
  // The pipe is full during the pauses.
  const pauses = setInterval(() => {
    pipe.reader.pause();
    setTimeout(() => pipe.reader.resume(), 150);
  }, 200);
  closeAfterTest(async () => clearInterval(pauses));
  const ids = Array.from({ length: 300 }, (_, n) => `write-${n}`);
  const rest = ids.values();
  const send = async () => {
    for (const id of rest) await gateway.write(id);
  };
  await Promise.all([...Array.from({ length: 20 }, send), gateway.request(2000)]);
  expect(await metric(gateway, 'ledger_gateway_log_lines_dropped_total')).toBe(0);

  gateway.child.signal('SIGTERM');
  await log.line({ msg: 'closed' });
  expect(await gateway.child.exited).toEqual({ code: 0, signal: null });
  for (const msg of ['sent', 'call', 'request']) {
    const logged = log.lines.filter((line) => line.msg === msg);
    expect(logged.map(({ requestId }) => requestId)).toEqual(expect.arrayContaining(ids));
  }
});

test('after the pipe of its log was closed, the gateway serves requests and exits with 0', async () => {
  const service = await startHeldService();
  const port = await freePort();
  const child = startProcess(['src/main.ts'], {
    env: await environmentFor(service, { PORT: String(port), LOG_LEVEL: 'info' }),
  });
  await child.line(/listening at/);
  child.closeStdout();
  const { status } = await fetch(`http://127.0.0.1:${port}/livez`);
  expect(status).toBe(200);
  for (let n = 0; n < 100; n++) await fetch(`http://127.0.0.1:${port}/nothing`);
  child.signal('SIGTERM');
  expect(await child.exited).toEqual({ code: 0, signal: null });
});

test('a gateway whose log is on a full disk serves requests and exits with 0', async () => {
  const full = await open('/dev/full', 'w');
  closeAfterTest(() => full.close());
  const gateway = await startWithOutput(full.fd);
  expect(await gateway.request(TOO_MANY_LINES)).toBe(TOO_MANY_LINES);
  expect(await metric(gateway, 'ledger_gateway_log_lines_dropped_total')).toBeGreaterThan(0);
  gateway.child.signal('SIGTERM');
  expect(await gateway.child.exited).toEqual({ code: 0, signal: null });
});
