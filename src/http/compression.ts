import type { IncomingHttpHeaders } from 'node:http';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import Negotiator from 'negotiator';
import { Gate } from '../account/gate.ts';

/** A shorter response is not compressed, in characters: it fits into one packet. */
const MIN_LENGTH = 1024;
/** A longer `Accept-Encoding` header, in characters, is not parsed. */
const MAX_ACCEPTED_LENGTH = 200;
/** The threads of Node's pool that compress at the same time, of four: two at most for one caller. */
const MAX_THREADS = 3;
/** The quality of Brotli: higher ones take several times as long for a few percent. */
const brotli = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };

const brotliCompress = promisify(zlib.brotliCompress);
const gzip = promisify(zlib.gzip);
const zstdCompress = promisify(zlib.zstdCompress);

/** In the order in which they are preferred. All run in the thread pool. */
const encoders = new Map<string, (payload: string | Buffer) => Promise<Buffer>>([
  ['br', (payload) => brotliCompress(payload, brotli)],
  ['gzip', (payload) => gzip(payload)],
  ['zstd', (payload) => zstdCompress(payload)],
]);
const encodings = [...encoders.keys()];

/** Compresses responses as `Accept-Encoding` asks for it. */
export function registerCompression(app: FastifyInstance, isOn: boolean): void {
  if (!isOn) return;
  const threads = new Gate({ limit: MAX_THREADS, maxWaiting: Infinity });
  app.addHook('onSend', (request, reply, payload, done) => {
    const { raw, headers } = request;
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
    const isLong = isText && payload.length >= MIN_LENGTH && !reply.hasHeader('content-encoding');
    // A request whose body is still arriving may be rejected at any time.
    const isArriving = !raw.complete && hasBody(headers);
    if (!isLong || isArriving || raw.socket.destroyed) return done(null, payload);
    reply.header('vary', `${reply.getHeader('vary')}, Accept-Encoding`);
    const encoding = acceptedEncoding(headers['accept-encoding'] ?? 'identity');
    const encode = encoding && encoders.get(encoding);
    if (!encode) return done(null, payload);
    reply.header('content-encoding', encoding);
    const compress = async () => {
      const { accountKey } = request;
      await threads.enter(accountKey);
      try {
        return raw.socket.destroyed ? '' : await encode(payload);
      } finally {
        threads.leave(accountKey);
      }
    };
    compress().then((bytes) => done(null, bytes), done);
  });
}

/** The first of our encodings that a client accepts: clients list several with the same weight. */
function acceptedEncoding(accepted: string): string | undefined {
  if (accepted.length > MAX_ACCEPTED_LENGTH) return undefined;
  const all = new Negotiator({ headers: { 'accept-encoding': accepted } }).encodings(encodings);
  return encodings.find((encoding) => all.includes(encoding));
}

function hasBody({ 'content-length': length, 'transfer-encoding': coding }: IncomingHttpHeaders) {
  return coding !== undefined || Number(length ?? 0) > 0;
}
