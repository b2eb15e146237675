import { once } from 'node:events';
import type { Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { expect, test } from '@jest/globals';
import {
  closeAfterTest,
  closedPort,
  json,
  portOf,
  type Reply,
  read,
  reply,
  startService,
  startTcp,
  startTestGateway,
  write,
  writes,
} from '../helper.ts';

/** What becomes of a read and a write whose connection meets `onConnection`. */
async function ask(url: string, timeoutMs = 5000) {
  const gateway = await startTestGateway({ url }, { UPSTREAM_TIMEOUT_MS: String(timeoutMs) });
  return {
    gateway,
    async read() {
      const { data, errors } = await gateway.graphql(read);
      expect(data).toEqual({ result: null });
      return errors?.map(({ extensions: { code, retryable } }) => ({ code, retryable }));
    },
    async write(field = writes.upgradeToHQ) {
      const { data, errors } = await gateway.graphql(`mutation { result: ${field} }`);
      const { __typename, code } = data.result ?? {};
      return (
        errors?.map(({ extensions: { code, retryable } }) => ({ code, retryable })) ?? [
          { __typename, code },
        ]
      );
    },
  };
}

const unknown = (code: string) => [{ __typename: 'LedgerOutcomeUnknown', code }];
const failed = (code: string) => [{ code, retryable: true }];

// Never sent: the write did nothing, and may be sent again.

test('a refused connection: nothing was sent', async () => {
  const service = await ask(`http://127.0.0.1:${await closedPort()}/`);
  expect(await service.read()).toEqual(failed('UPSTREAM_UNAVAILABLE'));
  expect(await service.write()).toEqual(failed('UPSTREAM_UNAVAILABLE'));
  expect(await service.write(writes.saveApproverList)).toEqual(failed('UPSTREAM_UNAVAILABLE'));
});

test('a name that does not resolve: nothing was sent', async () => {
  const service = await ask('http://nowhere.invalid/', 1000);
  // A resolver that is away itself takes longer than the deadline.
  const either = [
    {
      code: expect.stringMatching(/^UPSTREAM_(UNAVAILABLE|TIMEOUT)$/),
      retryable: true,
    },
  ];
  expect(await service.read()).toEqual(either);
  expect(await service.write()).toEqual(either);
});

test('a TLS handshake that never ends: nothing was sent', async () => {
  const { httpsUrl } = await startTcp((socket) => socket.resume());
  const service = await ask(httpsUrl, 300);
  expect(await service.read()).toEqual(failed('UPSTREAM_TIMEOUT'));
  expect(await service.write()).toEqual(failed('UPSTREAM_TIMEOUT'));
});

const brokenHandshakes: [name: string, onConnection: (socket: Socket) => void][] = [
  ['is hung up', (socket) => socket.once('data', () => socket.end())],
  ['is reset', (socket) => socket.once('data', () => socket.resetAndDestroy())],
  ['is answered in plain HTTP', (socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')],
];

test.each(brokenHandshakes)('a TLS handshake that %s: nothing was sent', async (_, react) => {
  const { httpsUrl, sockets } = await startTcp(react);
  const service = await ask(httpsUrl);
  expect(await service.write()).toEqual(failed('UPSTREAM_UNAVAILABLE'));
  expect(sockets).toHaveLength(1);
  expect(await service.read()).toEqual(failed('UPSTREAM_UNAVAILABLE'));
});

test('a TLS handshake that the service refuses: nothing was sent', async () => {
  const server = createTlsServer({}).listen(0, '127.0.0.1'); // It has no certificate to show.
  await once(server, 'listening');
  closeAfterTest(async () => server.close());
  const service = await ask(`https://127.0.0.1:${portOf(server.address())}/`);
  expect(await service.write()).toEqual(failed('UPSTREAM_UNAVAILABLE'));
  expect(await service.read()).toEqual(failed('UPSTREAM_UNAVAILABLE'));
});

// May have been sent: nobody knows what a write did.

const lostAnswers: [name: string, onConnection: (socket: Socket) => void, code: string][] = [
  [
    'a reset before the request is read',
    (socket) => {
      socket.pause();
      // Nothing tells a server that its client has noticed the connection: hence the wait.
      setTimeout(() => socket.resetAndDestroy(), 50);
    },
    'UPSTREAM_UNAVAILABLE',
  ],
  [
    'a reset after the request is read',
    (socket) => socket.once('data', () => socket.resetAndDestroy()),
    'UPSTREAM_UNAVAILABLE',
  ],
  [
    'a hang-up after the request is read',
    (socket) => socket.once('data', () => socket.end()),
    'UPSTREAM_UNAVAILABLE',
  ],
  [
    'a hang-up amid the head of the answer',
    (socket) => socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-le')),
    'UPSTREAM_UNAVAILABLE',
  ],
  [
    'a hang-up amid the body',
    (socket) =>
      socket.once('data', () =>
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"status":0'),
      ),
    'UPSTREAM_INVALID_RESPONSE',
  ],
  [
    'a reset amid the body',
    (socket) =>
      socket.once('data', () =>
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"status":0', () =>
          setTimeout(() => socket.resetAndDestroy(), 50),
        ),
      ),
    'UPSTREAM_INVALID_RESPONSE',
  ],
  [
    'a hang-up amid the chunks',
    (socket) =>
      socket.once('data', () =>
        socket.end('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nc\r\n{"status":0}\r\n'),
      ),
    'UPSTREAM_INVALID_RESPONSE',
  ],
];

test.each(lostAnswers)('%s: a write may have been done', async (_, react, code) => {
  const tcp = await startTcp(react);
  const service = await ask(tcp.url);
  expect(await service.write()).toEqual(unknown(code));
  expect(await service.write(writes.saveApproverList)).toEqual(unknown(code));
  expect(tcp.sockets).toHaveLength(2);
});

test.each(lostAnswers)('%s: a read is tried three times', async (_, react, code) => {
  const tcp = await startTcp(react);
  const service = await ask(tcp.url);
  expect(await service.read()).toEqual(failed(code));
  expect(tcp.sockets).toHaveLength(3);
});

const hangs: [name: string, onConnection: (socket: Socket) => void][] = [
  ['before the request is read', (socket) => socket.pause()],
  ['after the request is read', (socket) => socket.resume()],
  [
    'amid the head of the answer',
    (socket) => socket.once('data', () => socket.write('HTTP/1.1 200')),
  ],
  [
    'amid the body',
    (socket) =>
      socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{')),
  ],
];

test.each(hangs)('a service that hangs %s meets the deadline', async (_, react) => {
  const tcp = await startTcp(react);
  const service = await ask(tcp.url, 300);
  expect(await service.write()).toEqual(unknown('UPSTREAM_TIMEOUT'));
  expect(tcp.sockets).toHaveLength(1);
  expect(await service.read()).toEqual(failed('UPSTREAM_TIMEOUT'));
  expect(tcp.sockets).toHaveLength(2);
});

test('a body that trickles does not move the deadline', async () => {
  const service = await startService((response) => {
    const timer = setInterval(() => response.write(' '), 50);
    response.once('close', () => clearInterval(timer));
  });
  const { write } = await ask(service.url, 300);
  expect(await write()).toEqual(unknown('UPSTREAM_TIMEOUT'));
});

test('a connection is closed when its call meets the deadline', async () => {
  const tcp = await startTcp((socket) => socket.resume());
  const service = await ask(tcp.url, 300);
  await service.write();
  const [socket] = tcp.sockets;
  if (socket && !socket.closed) await once(socket, 'close');
  expect(socket?.closed).toBe(true);
});

test('a large write that is refused before it is read whole', async () => {
  const tcp = await startTcp((socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n')),
  );
  const { write } = await ask(tcp.url);
  const outcome = await write(
    `uploadWorkflowCsv(input: { fileName: "a", csv: "${'x'.repeat(100_000)}" }) { __typename ... on LedgerOutcomeUnknown { code } }`,
  );
  expect([
    [{ code: 'UPSTREAM_BAD_REQUEST', retryable: false }],
    // The connection may break before the answer is seen.
    unknown('UPSTREAM_UNAVAILABLE'),
  ]).toContainEqual(outcome);
  expect(tcp.sockets).toHaveLength(1);
});

// Retries: reads only, and of what may be gone at the next attempt.

const fine = json({ service_status: { status: 0 }, list: [], status: 0 });

/** Replies in turn, the last one for ever. */
function inTurn(...replies: Reply[]): Reply {
  return (response, received) => {
    const next = replies.length > 1 ? replies.shift() : replies[0];
    return next?.(response, received);
  };
}

test.each([502, 503, 504])('a read is tried three times before %d', async (status) => {
  const service = await startService(reply(status));
  const { read } = await ask(service.url);
  expect(await read()).toEqual(failed('UPSTREAM_FAILED'));
  expect(service.received).toHaveLength(3);
});

test.each([200, 204, 307, 400, 401, 403, 404, 408, 409, 429, 500, 501, 505])(
  'a read is tried once before %d',
  async (status) => {
    const service = await startService(reply(status, '', { location: '/', 'retry-after': '0' }));
    const { read } = await ask(service.url);
    await read();
    expect(service.received).toHaveLength(1);
  },
);

test.each([
  ['503', reply(503)],
  ['a reset', (response) => void response.socket?.resetAndDestroy()],
  ['half an answer', (response) => void response.write('{', () => response.destroy())],
] satisfies [string, Reply][])('a read that meets %s once is answered', async (_, first) => {
  const service = await startService(inTurn(first, fine));
  const gateway = await startTestGateway(service);

  const { data, errors } = await gateway.graphql(read);

  expect(errors).toBeUndefined();
  expect(data.result.__typename).toBe('GlCodeList');
  expect(service.received).toHaveLength(2);
});

test('a retry sends the very same request', async () => {
  const service = await startService(inTurn(reply(503), fine));
  const gateway = await startTestGateway(service);

  await gateway.graphql(read);

  const [first, second] = service.received;
  expect(second?.url).toBe(first?.url);
  expect(second?.headers.authorization).toBe(first?.headers.authorization);
  expect(second?.headers['x-request-id']).toBe(first?.headers['x-request-id']);
});

test.each([
  ['seconds', () => '1'],
  ['a date', () => new Date(Date.now() + 2000).toUTCString()],
])('Retry-After in %s is waited for', async (_, retryAfter) => {
  const arrivals: number[] = [];
  const service = await startService((response, received) => {
    const first = arrivals.push(performance.now()) === 1;
    return (first ? reply(503, '', { 'retry-after': retryAfter() }) : fine)(response, received);
  });
  const gateway = await startTestGateway(service);

  const { data } = await gateway.graphql(read);

  expect(data.result.__typename).toBe('GlCodeList');
  const [first = 0, second = 0] = arrivals;
  expect(second - first).toBeGreaterThan(900);
});

test.each([
  ['seconds', '60'],
  ['a date', new Date(Date.now() + 60_000).toUTCString()],
])('a Retry-After in %s beyond the deadline is given up at once', async (_, retryAfter) => {
  const service = await startService(reply(503, '', { 'retry-after': retryAfter }));
  const { read } = await ask(service.url, 8000);
  const start = performance.now();
  expect(await read()).toEqual(failed('UPSTREAM_FAILED'));
  expect(performance.now() - start).toBeLessThan(4000);
  expect(service.received).toHaveLength(1);
});

test('a Retry-After that is none does not hinder', async () => {
  const service = await startService(inTurn(reply(503, '', { 'retry-after': 'soon' }), fine));
  const gateway = await startTestGateway(service);
  const { data } = await gateway.graphql(read);
  expect(data.result.__typename).toBe('GlCodeList');
});

test('the deadline is one for all attempts', async () => {
  const service = await startService(inTurn(reply(503), () => {}));
  const { read } = await ask(service.url, 800);
  expect(await read()).toEqual(failed('UPSTREAM_TIMEOUT'));
  expect(service.received).toHaveLength(2);
});

test('a write with a Retry-After is not sent again', async () => {
  const service = await startService(reply(503, '', { 'retry-after': '0' }));
  const gateway = await startTestGateway(service);
  await gateway.graphql(write);
  await gateway.close();
  expect(service.received).toHaveLength(1);
});

test('a write answered with a switch of protocols has an outcome, and holds no place', async () => {
  const service = await startTcp((socket) => {
    socket.once('data', () =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n'),
    );
  });
  const gateway = await startTestGateway(service, { UPSTREAM_TIMEOUT_MS: '2000' });

  const { data } = await gateway.graphql(write);
  await gateway.close();

  expect(Object.values(data)).toEqual([
    expect.objectContaining({ __typename: 'LedgerOutcomeUnknown' }),
  ]);
});
