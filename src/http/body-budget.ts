import { type Readable, Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { overloaded } from '../errors/gateway-error.ts';
import { HEAP_LIMIT, MEMORY_LIMIT } from '../lib/memory-limit.ts';
import { BODY_LIMIT } from './request-body.ts';

/** The share of the memory for the bodies of all requests in progress: each is copied several times. */
const MEMORY_SHARE = 0.1;
/** Bodies of more bytes than this leave a quarter of it to others: uploads must not stop queries. */
const SMALL_BODY = 65_536;
const LARGE_SHARE = 0.75;
/** Bytes of a body that are kept together. Each part of it takes 200 bytes more, even if it is a single byte. */
const PART_BYTES = 16_384;

declare module 'fastify' {
  interface FastifyRequest {
    /** The bytes reserved for the body. */
    bodyBytes: number;
    /** Settles when the request is executed, which may be after its client has disconnected. */
    execution: Promise<unknown> | null;
  }
}

/** Limits the total size of the request bodies in memory. */
export class BodyBudget {
  readonly #totalBytes = Math.min(HEAP_LIMIT, MEMORY_LIMIT) * MEMORY_SHARE;
  readonly #onReject: () => void;
  #bytes = 0;

  constructor(app: FastifyInstance, onReject: () => void) {
    app.decorateRequest('bodyBytes', 0);
    app.decorateRequest('execution', null);
    this.#onReject = onReject;
  }

  /**
   * Reserves the declared length of a body until the request is executed and has its response, and tells
   * a client that waits for it to continue. Throws `OVERLOADED` if too much is reserved, after the body has
   * been read and discarded.
   */
  async admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const { 'content-length': length, expect } = request.headers;
    const bytes = Number(length ?? 0);
    // Rejected without being read, or the client has disconnected.
    if (bytes > BODY_LIMIT || reply.raw.closed) return;
    try {
      this.#reserve(request, bytes);
    } catch (error) {
      // A connection that closes while the client is sending would lose the response.
      if (expect === undefined) await finished(request.raw.resume()).catch(() => {});
      throw error;
    }
    const release = () => {
      this.#bytes -= request.bodyBytes;
    };
    reply.raw.once('close', () => Promise.resolve(request.execution).then(release, release));
    if (expect !== undefined) reply.raw.writeContinue();
  }

  /** The same for a body without a declared length, while it arrives. Joins the small parts of a large body. */
  admitChunks(request: FastifyRequest, body: Readable): Readable {
    const isChunked = request.headers['transfer-encoding'] !== undefined;
    if (!isChunked && request.bodyBytes <= SMALL_BODY) return body;
    const reserve = ({ length }: Buffer) => this.#reserve(request, length);
    let part = Buffer.allocUnsafe(PART_BYTES);
    let used = 0;
    const parts = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        try {
          if (isChunked) reserve(chunk);
        } catch {
          this.destroy(tooManyBytes());
          return;
        }
        if (used > 0 && used + chunk.length > PART_BYTES) {
          this.push(part.subarray(0, used));
          part = Buffer.allocUnsafe(PART_BYTES);
          used = 0;
        }
        if (chunk.length > PART_BYTES) this.push(chunk);
        else used += chunk.copy(part, used);
        done();
      },
      flush(done) {
        done(null, part.subarray(0, used));
      },
    });
    // Not as a pipeline: destroying the body would close the connection before the response.
    body.once('error', (error) => parts.destroy(error));
    return body.pipe(parts);
  }

  #reserve(request: FastifyRequest, bytes: number): void {
    const isLarge = request.bodyBytes + bytes > SMALL_BODY;
    const limit = this.#totalBytes * (isLarge ? LARGE_SHARE : 1);
    // A single body is always accepted.
    if (this.#bytes + bytes > limit && this.#bytes > request.bodyBytes) {
      this.#onReject();
      throw tooManyBytes();
    }
    request.bodyBytes += bytes;
    this.#bytes += bytes;
  }
}

function tooManyBytes() {
  return overloaded('The gateway is processing too many large requests.');
}
