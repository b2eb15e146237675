import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setImmediate as immediate } from 'node:timers/promises';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import {
  type Reply,
  read,
  reply,
  startService,
  startTcp,
  startTestGateway,
  write,
} from '../helper.ts';
import { fine, metricIs, startHeldService } from './held.ts';

const CAP = 65_536;
/** What may be on its way when a transfer is stopped: the buffers of both kernels and of Node. */
const ON_THE_WAY = 32 * 1024 * 1024;

async function startCapped(reply: Reply, bytes = CAP) {
  const service = await startService(reply);
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_RESPONSE_BYTES: String(bytes) });
  return { service, gateway };
}

/** Writes a piece again and again, as fast as it is taken, until somebody hangs up. */
function withoutEnd(headers: Record<string, string>, head: Buffer, piece: Buffer) {
  const ended = Promise.withResolvers<{ taken: number }>();
  const reply: Reply = (response) => {
    const { socket } = response;
    response.once('close', () => ended.resolve({ taken: socket?.bytesWritten ?? 0 }));
    response.writeHead(200, headers).write(head);
    pump(response, piece);
  };
  return { reply, ended: ended.promise };
}

function pump(response: ServerResponse, piece: Buffer): void {
  while (!response.destroyed) {
    if (response.write(piece)) continue;
    response.once('drain', () => pump(response, piece));
    return;
  }
}

const gzipHeader = gzipSync('').subarray(0, 10);
/** A megabyte of zeros as a part of a deflate stream that may stand there any number of times. */
const megabyteOfZeros = deflateSync(Buffer.alloc(1_048_576), {
  finishFlush: constants.Z_FULL_FLUSH,
}).subarray(2);

const endless: [name: string, headers: Record<string, string>, head: Buffer, piece: Buffer][] = [
  ['in chunks', {}, Buffer.from('{"list":['), Buffer.alloc(65_536, ' ')],
  [
    'of a stated length',
    { 'content-length': '1000000000000' },
    Buffer.from('{'),
    Buffer.alloc(65_536, ' '),
  ],
  [
    'until the connection closes',
    { connection: 'close' },
    Buffer.from('{'),
    Buffer.alloc(65_536, ' '),
  ],
  ['compressed', { 'content-encoding': 'gzip' }, gzipHeader, megabyteOfZeros],
];

const invalid = { code: 'UPSTREAM_INVALID_RESPONSE' };

test.each(endless)('a body without an end, %s, is stopped at the cap', async (_, ...body) => {
  const first = withoutEnd(...body);
  const { gateway, service } = await startCapped(first.reply);
  const { data, errors } = await gateway.graphql(read);
  expect(data).toEqual({ result: null });
  expect(errors?.[0]?.extensions).toMatchObject({ ...invalid, retryable: false });
  expect((await first.ended).taken).toBeLessThan(ON_THE_WAY);
  expect(service.received).toHaveLength(1);
  expect(gateway.logs).toContainEqual(
    expect.objectContaining({ fault: `over ${CAP} bytes`, outcome: 'UPSTREAM_INVALID_RESPONSE' }),
  );
});

test.each(endless)('a write answered by a body without an end, %s', async (_, ...body) => {
  const { reply, ended } = withoutEnd(...body);
  const { gateway, service } = await startCapped(reply);
  const { data } = await gateway.graphql(write);
  expect(data.result).toMatchObject({ __typename: 'LedgerOutcomeUnknown', ...invalid });
  expect((await ended).taken).toBeLessThan(ON_THE_WAY);
  expect(service.received).toHaveLength(1);
});

test('a bomb of 512 MB in half a megabyte is not unfolded', async () => {
  const bomb = Buffer.concat([gzipHeader, ...Array<Buffer>(512).fill(megabyteOfZeros)]);
  expect(bomb.length).toBeLessThan(600_000);
  const closed = Promise.withResolvers<void>();
  const { gateway } = await startCapped((response) => {
    response.socket?.once('close', () => closed.resolve());
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-length': bomb.length });
    response.end(bomb);
  });
  await gateway.graphql('{ __typename }');
  const before = process.memoryUsage();
  let most = before.rss;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 5);
  const { errors } = await gateway.graphql(read);
  clearInterval(timer);

  expect(errors?.[0]?.extensions).toMatchObject(invalid);
  expect(most - before.rss).toBeLessThan(128 * 1024 * 1024);
  // The whole of it fits into the buffers: what shows that it was not taken is the hang-up.
  await closed.promise;
});

test('an error page without an end is not read', async () => {
  const ended = Promise.withResolvers<number>();
  const { gateway } = await startCapped((response) => {
    const { socket } = response;
    response.once('close', () => ended.resolve(socket?.bytesWritten ?? 0));
    response.writeHead(500);
    pump(response, Buffer.alloc(65_536, ' '));
  });
  const { errors } = await gateway.graphql(read);
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'UPSTREAM_FAILED' });
  expect(await ended.promise).toBeLessThan(ON_THE_WAY);
});

test.each([400, 500])(
  'the error pages of %d that never come hold no connection back from later calls',
  async (status) => {
    const closed: Promise<unknown>[] = [];
    const service = await startService((response, it) => {
      if (!it.url.includes('bad')) return fine(response, it);
      closed.push(once(response, 'close'));
      response.writeHead(status, { 'content-length': 10 }).flushHeaders();
    });
    const gateway = await startTestGateway(service, {
      UPSTREAM_MAX_CONCURRENCY: '2',
      UPSTREAM_TIMEOUT_MS: '1000',
    });
    for (let n = 0; n < 4; n++) {
      const { errors } = await gateway.graphql(read.replace('north', `bad${n}`));
      expect(errors?.[0]?.extensions.code).toMatch(/^UPSTREAM_(FAILED|BAD_REQUEST)$/);
    }
    expect((await gateway.graphql(read)).errors).toBeUndefined();
    expect(await Promise.all(closed)).toHaveLength(4);
  },
);

/** An answer of exactly so many bytes. */
function answerOf(bytes: number): string {
  const [head, tail] = ['{"service_status":{"status":0},"list":[{"Code":"', '"}]}'];
  return head + 'x'.repeat(bytes - head.length - tail.length) + tail;
}

const encodings: [encoding: string, (text: string) => Buffer][] = [
  ['identity', Buffer.from],
  ['gzip', gzipSync],
  ['deflate', deflateSync],
  ['br', brotliCompressSync],
];

test.each(encodings)(
  'an answer in %s is read up to the cap and no further',
  async (name, encode) => {
    const bytes = { next: CAP };
    const { gateway } = await startCapped((response) => {
      response.setHeader('content-encoding', name).end(encode(answerOf(bytes.next)));
    });
    const { data, errors } = await gateway.graphql(read);
    expect(errors).toBeUndefined();
    expect(data.result.codes[0].code).toMatch(/^x{60000,}$/);

    bytes.next = CAP + 1;
    expect((await gateway.graphql(read)).errors?.[0]?.extensions).toMatchObject(invalid);
  },
);

test('the cap is that of each answer on its own', async () => {
  const { gateway } = await startCapped(reply(200, answerOf(CAP)));
  for (let n = 0; n < 5; n++) expect((await gateway.graphql(read)).errors).toBeUndefined();
});

test.each(['compress', 'gzip, gzip', 'zstd'])(
  'an answer in %s, which nobody asked for, is not understood',
  async (encoding) => {
    const { gateway } = await startCapped(
      reply(200, '\u001f\u009d\u0090', { 'content-encoding': encoding }),
    );
    const { errors } = await gateway.graphql(read);
    expect(errors?.[0]?.extensions).toMatchObject(invalid);
  },
);

test('a connection whose answer was stopped is not used again', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_MAX_RESPONSE_BYTES: '1000' });
  const first = gateway.graphql(read);
  const { response } = await service.arrived(1);
  const { socket } = response;
  response.write(' '.repeat(2000)); // There may be more to come.
  await first;
  if (socket && !socket.closed) await once(socket, 'close');

  const second = gateway.graphql(read);
  const call = await service.arrived(2);
  expect(call.response.socket).not.toBe(socket);
  await fine(call.response, call.received);
  expect((await second).errors).toBeUndefined();
});

test.each([
  ['and then the end of the body', '0\r\n\r\n'],
  ['and the body goes on without an end', ''],
])('bytes after the end of what is compressed, %s, are no answer', async (_, end) => {
  const coded = brotliCompressSync('{"service_status":{"status":0},"list":[]}');
  const chunk = (bytes: Buffer) => [`${bytes.length.toString(16)}\r\n`, bytes, '\r\n'];
  const { url } = await startTcp((socket) => {
    socket.on('data', async () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nTransfer-Encoding: chunked\r\n\r\n');
      for (const part of chunk(coded)) socket.write(part);
      await immediate();
      for (const part of [...chunk(Buffer.from('xyz')), end]) socket.write(part);
    });
  });
  const gateway = await startTestGateway({ url }, { UPSTREAM_TIMEOUT_MS: '1000' });
  const { errors } = await gateway.graphql(read);
  expect(errors?.[0]?.extensions.code).toMatch(/^UPSTREAM_(INVALID_RESPONSE|TIMEOUT)$/);
  // The connection is not held by it.
  await metricIs(gateway, 'ledger_gateway_calls_in_flight', 0);
});

test('an answer that is over for its decoder and goes on for HTTP ends with the deadline', async () => {
  const coded = brotliCompressSync('{"service_status":{"status":0},"list":[]}');
  const { url, sockets } = await startTcp((socket) => {
    socket.on('data', () => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nTransfer-Encoding: chunked\r\n\r\n');
      socket.write(`${coded.length.toString(16)}\r\n`);
      socket.write(coded);
      socket.write('\r\n');
    });
  });
  const gateway = await startTestGateway({ url }, { UPSTREAM_TIMEOUT_MS: '500' });
  const { errors } = await gateway.graphql(read);
  expect(errors?.[0]?.extensions).toMatchObject({ code: 'UPSTREAM_TIMEOUT' });
  const [socket] = sockets;
  if (socket && !socket.closed) await once(socket, 'close');
});

test.each([
  ['gzip, br', 'UPSTREAM_INVALID_RESPONSE'],
  ['zstd', 'UPSTREAM_INVALID_RESPONSE'],
  [' identity', undefined],
  ['GZip ', undefined],
])('a body in the content coding "%s"', async (coding, code) => {
  const plain = '{"service_status":{"status":0},"list":[]}';
  const body = /gzip/i.test(coding) ? gzipSync(plain) : plain;
  const { gateway, service } = await startCapped((response) => {
    response.writeHead(200, { 'content-encoding': coding }).end(body);
  });
  const { data, errors } = await gateway.graphql(read);
  expect(errors?.[0]?.extensions.code).toBe(code);
  if (code === undefined) expect(data.result.__typename).toBe('GlCodeList');
  expect(service.received).toHaveLength(1);
});
