import { promisify } from 'node:util';
import zlib from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import Negotiator from 'negotiator';
import { Gate } from '../admission/gate.ts';
import { memoLatest } from '../lib/memo.ts';

/** The quality of Brotli: higher ones take several times as long for a few percent. */
const brotli = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };

const brotliCompress = promisify(zlib.brotliCompress);

/** The encodings in the order of preference. All of them run in Node's thread pool. */
const encoders: [encoding: string, encode: (payload: string | Buffer) => Promise<Buffer>][] = [
  ['zstd', promisify(zlib.zstdCompress)],
  ['br', (payload) => brotliCompress(payload, brotli)],
  ['gzip', promisify(zlib.gzip)],
];

/** Compresses responses as `Accept-Encoding` asks for it. */
export function registerCompression(app: FastifyInstance): void {
  // Of the four threads of Node's pool. Without this limit, others wait three times as long during 720 responses of 1 MB that
  // are compressed (docs/decisions/0025).
  const threads = new Gate({ limit: 3, maxWaiting: Infinity });
  app.addHook('onSend', (request, reply, payload, done) => {
    const { socket } = request.raw;
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
    // A shorter response fits into one packet.
    const isLong = isText && payload.length >= 1024 && !reply.hasHeader('content-encoding');
    if (!isLong || socket.destroyed) return done(null, payload);
    reply.header('vary', `${reply.getHeader('vary')}, Accept-Encoding`);
    const accepted = request.headers['accept-encoding'] ?? '';
    // The time to parse a header grows with its length.
    const encoder = accepted.length > 200 ? undefined : acceptedEncoder(accepted);
    if (!encoder) return done(null, payload);
    const [encoding, encode] = encoder;
    reply.header('content-encoding', encoding);
    const { admissionKey } = request;
    const compress = async () => (socket.destroyed ? '' : encode(payload));
    threads
      .enter(admissionKey)
      .then(() => compress().finally(() => threads.leave(admissionKey)))
      .then((bytes) => done(null, bytes), done);
  });
}

/** The first encoding that a client accepts. Clients list several with the same weight. */
const acceptedEncoder = memoLatest((accepted) => {
  const negotiator = new Negotiator({ headers: { 'accept-encoding': accepted } });
  const all = negotiator.encodings(encoders.map(([encoding]) => encoding));
  return encoders.find(([encoding]) => all.includes(encoding));
});
