import { Readable } from 'node:stream';
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { expect, test } from '@jest/globals';
import { responseBody } from '../../../src/upstream/transport/response-body.ts';
import { type Reply, startService } from '../../../testkit/service.ts';
import { neverAborted, startOutcomes, unknown } from '../../support/upstream-call.ts';

const MAX_BYTES = 65_536;
/** The most that may be in transit when a transfer is stopped: the buffers of both kernels and of Node. */
const MAX_IN_TRANSIT = 32 * 1024 * 1024;

async function startLimited(reply: Reply, maxResponseBytes = MAX_BYTES) {
  const service = await startService(reply);
  return { service, calls: startOutcomes(service.url, { maxResponseBytes }) };
}

/** Sends the same part again and again, as fast as it is read, until the connection closes. */
function endlessReply(headers: Record<string, string>, head: Buffer, part: Buffer) {
  const closed = Promise.withResolvers<{ bytesSent: number }>();
  const reply: Reply = (response) => {
    const { socket } = response;
    response.once('close', () => closed.resolve({ bytesSent: socket?.bytesWritten ?? 0 }));
    response.writeHead(200, headers).write(head);
    const endless = new Readable({
      read() {
        this.push(part);
      },
    });
    endless.pipe(response);
  };
  return { reply, closed: closed.promise };
}

const gzipHeader = gzipSync('').subarray(0, 10);
/** A megabyte of zeros as a part of a deflate stream that may be repeated any number of times. */
const megabyteOfZeros = deflateSync(Buffer.alloc(1_048_576), {
  finishFlush: constants.Z_FULL_FLUSH,
}).subarray(2);

const isInvalid = 'UPSTREAM_INVALID_RESPONSE';
const invalid = { code: isInvalid };

const [brace, spaces] = [Buffer.from('{'), Buffer.alloc(65_536, ' ')];

test.each<[name: string, headers: Record<string, string>, head: Buffer, part: Buffer]>([
  ['sent in chunks', {}, brace, spaces],
  ['with a content-length', { 'content-length': '1000000000000' }, brace, spaces],
  ['sent until the connection closes', { connection: 'close' }, brace, spaces],
  ['compressed', { 'content-encoding': 'gzip' }, gzipHeader, megabyteOfZeros],
])('an endless body %s is cut at the limit', async (_, ...body) => {
  for (const [send, outcome] of [
    ['read', isInvalid],
    ['write', unknown(isInvalid)],
  ] as const) {
    const { reply, closed } = endlessReply(...body);
    const { calls, service } = await startLimited(reply);
    expect(await calls[send]()).toBe(outcome);
    expect((await closed).bytesSent).toBeLessThan(MAX_IN_TRANSIT);
    expect(service.received).toHaveLength(1);
  }
});

/** A list of GL codes of exactly so many bytes. */
function bodyOf(bytes: number): string {
  const [head, tail] = ['{"service_status":{"status":0},"list":[{"Code":"', '"}]}'];
  return head + 'x'.repeat(bytes - head.length - tail.length) + tail;
}

test.each<[coding: string, maxBytes: number, encode: (text: string) => Buffer]>([
  ['identity', MAX_BYTES, Buffer.from],
  ['gzip', MAX_BYTES, gzipSync],
  ['gzip', 1_000_000, gzipSync],
  ['deflate', 1_000_000, deflateSync],
])('a response in %s is read up to the limit of %d and not beyond', async (...row) => {
  const [coding, maxBytes, encode] = row;
  const bytes = { next: maxBytes };
  const { calls } = await startLimited((response) => {
    response.setHeader('content-encoding', coding).end(encode(bodyOf(bytes.next)));
  }, maxBytes);
  for (let n = 0; n < 3; n++) expect(await calls.read()).toBe('success');
  bytes.next = maxBytes + 1;
  expect(await calls.read()).toBe(isInvalid);
});

/** The body that was received with a coding, or several headers of codings, read within limits. */
function bodyIn(
  coding: string | string[],
  rawBody: Buffer,
  limits: Partial<Parameters<typeof responseBody>[1]> = {},
) {
  const all = {
    ...{ signal: neverAborted, maxBytes: 1_000_000, tryReserve: () => true },
    ...{ reserve: () => undefined, ...limits },
  };
  const headers: object = { 'content-encoding': coding };
  return responseBody({ headers: { ...headers }, rawBody }, all);
}
const small = Buffer.from('{}');
const large = Buffer.alloc(1_000_000);

test.each([
  ['gzip, gzip', 'gzip, gzip'],
  ['compress', 'compress'],
  [['gzip', 'gzip'], 'gzip,gzip'],
  ['constructor', 'constructor'],
  ['Snappy\x80', 'Snappy?'],
])('the coding %j is invalid, and the log names it', (coding, shown) => {
  const error = { ...invalid, fault: `content coding not supported: ${shown}` };
  expect(() => bodyIn(coding, small)).toThrow(expect.objectContaining(error));
});

test.each([
  [' identity', small],
  ['GZip ', gzipSync(small)],
  ['x-gzip', gzipSync(small)],
  ['DEFLATE', deflateSync(small)],
  ['deflate', deflateRawSync(small)],
  ['deflate', deflateRawSync(small, { level: 0 })],
  ['deflate', gzipSync(small)],
  ['br', brotliCompressSync(small)],
  ['zstd', zstdCompressSync(small)],
])('the coding "%s" is read', async (coding, rawBody) => {
  expect(await bodyIn(coding, rawBody)).toEqual(small);
});

test.each([
  ['x-gzip', gzipSync],
  ['deflate', deflateRawSync],
  ['br', brotliCompressSync],
  ['zstd', zstdCompressSync],
])('a long body in %s is read, and one that is too long is not', async (coding, encode) => {
  expect(Buffer.compare(await bodyIn(coding, encode(large)), large)).toBe(0);
  const longer = async () => bodyIn(coding, encode(Buffer.alloc(1_000_001)));
  await expect(longer()).rejects.toMatchObject({
    fault: 'larger than 1000000 bytes (UPSTREAM_MAX_RESPONSE_BYTES)',
  });
});

test('a body of very many frames in zstd is invalid, because each takes time', async () => {
  const frames = (count: number) => Buffer.concat(Array(count).fill(zstdCompressSync('')));
  expect(await bodyIn('zstd', frames(1000))).toHaveLength(0);
  const reading = async () => bodyIn('zstd', frames(1001));
  await expect(reading()).rejects.toMatchObject({ ...invalid, fault: 'more than 1000 frames' });
});

test.each([
  ['gzip', gzipSync],
  ['zstd', zstdCompressSync],
])('a body of several parts in %s is read to its end', async (coding, encode) => {
  for (const part of [small, Buffer.alloc(300_000)]) {
    const parts = [part, part, part];
    const body = await bodyIn(coding, Buffer.concat(parts.map((one) => encode(one))));
    expect(Buffer.compare(body, Buffer.concat(parts))).toBe(0);
  }
});

test('decompression ends when there is no memory for more', async () => {
  let held = 0;
  const hold = (bytes: number) => {
    held += bytes;
    return held < 300_000;
  };
  const reading = bodyIn('gzip', gzipSync(large), { tryReserve: hold });
  await expect(reading).rejects.toMatchObject({ code: 'OVERLOADED' });
  expect(held).toBeLessThan(400_000); // The rest was not decompressed.
});

test('decompression ends when its signal is aborted', async () => {
  const controller = new AbortController();
  const reading = bodyIn('gzip', gzipSync(large), { signal: controller.signal });
  controller.abort();
  await expect(reading).rejects.toMatchObject({ fault: 'ABORT_ERR' });
});

test.each(['gzip', 'deflate', 'br', 'zstd'])(
  'a body that is not in %s is invalid',
  async (coding) => {
    for (const rawBody of [Buffer.from('no'), Buffer.alloc(100_000, 0xff)]) {
      const read = async () => bodyIn(coding, rawBody);
      await expect(read()).rejects.toMatchObject(invalid);
    }
  },
);
