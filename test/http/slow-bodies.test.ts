import { once } from 'node:events';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, jest, test } from '@jest/globals';
import { SlowBodies } from '../../src/http/slow-bodies.ts';
import { speedUpTimeouts } from '../support/fast-timeouts.ts';
import { startTestGateway } from '../support/gateway.ts';
import { read } from '../support/graphql-operation.ts';
import { connectTo } from '../support/raw-request.ts';
import { json, startService } from '../support/service.ts';

afterEach(() => {
  jest.useRealTimers();
});

// The rules, by a clock that the test advances

/** A request that is already slow, at the time at which it is added. */
function startSlow(isVerified: boolean) {
  jest.useFakeTimers();
  const bodies = new SlowBodies();
  const socket = new Socket();
  let received = 0;
  Object.defineProperty(socket, 'bytesRead', { get: () => received });
  const message = new IncomingMessage(socket);
  const reject = jest.fn();
  bodies.add(message, { isVerified: () => isVerified, reject });
  return {
    bodies,
    message,
    reject,
    /** Lets time pass in which a number of bytes arrive in each second. */
    pass(seconds: number, bytesPerSecond: number) {
      for (let second = 0; second < seconds; second++) {
        received += bytesPerSecond;
        jest.advanceTimersByTime(1000);
      }
    },
  };
}

test.each([0, 1, 1_000_000])(
  'without a verified token, a request may take 30 s, with %i bytes per second',
  (bytes) => {
    const { reject, pass, bodies } = startSlow(false);
    pass(19, bytes);
    expect(reject).not.toHaveBeenCalled();
    pass(1, bytes);
    expect(reject).toHaveBeenCalledWith(408);
    expect(bodies.size).toBe(0);
  },
);

test('with a verified token, a body may take ten minutes if 16 KB arrive per second', () => {
  const { reject, pass } = startSlow(true);
  pass(589, 16_000);
  expect(reject).not.toHaveBeenCalled();
  pass(1, 16_000);
  expect(reject).toHaveBeenCalledWith(408);
});

test.each([0, 1, 15_999])('a body with %i bytes per second is rejected after 10 s', (bytes) => {
  const { reject, pass } = startSlow(true);
  pass(9, bytes);
  expect(reject).not.toHaveBeenCalled();
  pass(1, bytes);
  expect(reject).toHaveBeenCalledTimes(1);
});

test('a body that stalls later is rejected 10 s after that', () => {
  const { reject, pass } = startSlow(true);
  pass(100, 50_000);
  pass(6, 0);
  expect(reject).not.toHaveBeenCalled();
  pass(4, 0);
  expect(reject).toHaveBeenCalledTimes(1);
});

test('a body that stalls for a moment is not rejected', () => {
  const { reject, pass } = startSlow(true);
  for (let n = 0; n < 10; n++) {
    pass(5, 0);
    pass(5, 32_000);
  }
  expect(reject).not.toHaveBeenCalled();
});

test('the time in which the event loop is blocked does not count', () => {
  const { reject, pass } = startSlow(true);
  jest.setSystemTime(Date.now() + 60_000);
  pass(9, 0);
  expect(reject).not.toHaveBeenCalled();
});

test('a body that has arrived, or whose client has disconnected, is forgotten', () => {
  for (const end of [
    (message: IncomingMessage) => Reflect.set(message, 'complete', true),
    (message: IncomingMessage) => message.socket.destroy(),
  ]) {
    const { bodies, message, reject, pass } = startSlow(true);
    end(message);
    pass(1, 0);
    expect(bodies.size).toBe(0);
    expect(jest.getTimerCount()).toBe(0);
    pass(600, 0);
    expect(reject).not.toHaveBeenCalled();
  }
});

// Through a gateway whose clocks run fast

const origin = 'https://app.example';

/** Starts a gateway for which 10 s are 200 ms. */
async function start() {
  speedUpTimeouts();
  const service = await startService(json({ service_status: { status: 0 }, list: [] }));
  const gateway = await startTestGateway(service, { CORS_ORIGINS: origin });
  /** Sends the head of a request with a body of this length. */
  function open(length: number, token: string | undefined = gateway.token) {
    const socket = connectTo(gateway.url);
    socket.write(
      [
        'POST /graphql HTTP/1.1',
        'host: a',
        `origin: ${origin}`,
        'accept: application/graphql-response+json, application/json;q=0.9',
        'content-type: application/json',
        `content-length: ${length}`,
        ...(token ? [`authorization: Bearer ${token}`] : []),
        '\r\n',
      ].join('\r\n'),
    );
    return { socket, response: () => text(socket) };
  }
  return { service, gateway, open };
}

const body = JSON.stringify({ query: read });

test.each(['with a token', 'without a token'])(
  'a stalled body %s gets an error that a page can read',
  async (kind) => {
    const { service, gateway, open } = await start();
    const { socket, response } = open(body.length, kind === 'with a token' ? gateway.token : '');
    socket.write(body.slice(0, -1));

    const received = await response();
    expect(received).toMatch(/^HTTP\/1\.1 408 /);
    expect(received).toMatch(/^access-control-allow-origin: https:\/\/app\.example\r$/im);
    expect(received).toMatch(/^content-type: application\/graphql-response\+json;/im);
    expect(received).toMatch(/^connection: close\r$/im);
    expect(JSON.parse(received.slice(received.indexOf('{')))).toMatchObject({
      errors: [{ extensions: { code: 'REQUEST_TIMEOUT', retryable: true } }],
    });
    await gateway.logLine({ msg: 'request', status: 408, outcome: 'REQUEST_TIMEOUT' });
    expect(service.received).toEqual([]);
  },
);

test('a body that arrives slowly but steadily is executed', async () => {
  const { service, gateway, open } = await start();
  const padding = 4_000_000;
  const { socket } = open(body.length + padding);
  // Over more than twice the time that a request without a token has.
  for (let sent = 0; sent < 20; sent++) {
    socket.write(' '.repeat(padding / 20));
    await sleep(70);
  }
  socket.write(body);

  expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 200 /);
  expect(service.received).toHaveLength(1);
  await gateway.logLine({ msg: 'request', status: 200 });
});

test('a body that is rejected and then arrives is not executed', async () => {
  const { service, gateway, open } = await start();
  const { socket, response } = open(body.length);
  socket.allowHalfOpen = true;
  socket.write(body.slice(0, -1));
  await gateway.logLine({ msg: 'request', status: 408 });
  // Followed by another request, which a connection that closes must not execute either.
  socket.write(`}GET /livez HTTP/1.1\r\nhost: a\r\n\r\n`);

  expect((await response()).match(/^HTTP/gm)).toHaveLength(1);
  expect(service.received).toEqual([]);
  expect(gateway.logs.filter(({ msg }) => msg === 'request')).toHaveLength(1);
});

test('a client that continues to send reads its error', async () => {
  const { gateway, open } = await start();
  const { socket, response } = open(10_000_000);
  const sending = setInterval(() => socket.write(' '.repeat(100)), 5);
  socket.once('close', () => clearInterval(sending));

  expect(await response()).toMatch(/^HTTP\/1\.1 408 /);
  await gateway.logLine({ msg: 'request', status: 408 });
});

test('a body whose request already has its response does not keep the connection open', async () => {
  const { gateway, open } = await start();
  const { socket, response } = open(100, 'invalid');
  const closed = once(socket, 'close');
  expect(await response()).toMatch(/^HTTP\/1\.1 401 [\s\S]*\}$/);
  await closed;
  expect(gateway.logs.filter(({ msg }) => msg === 'request')).toHaveLength(1);
});
