import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { invalidResponse, type UpstreamError } from '../upstream-error.ts';
import { faultOf } from './transport-error.ts';

const decompressors = {
  gzip: createGunzip,
  'x-gzip': createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

type Decompressor = ReturnType<(typeof decompressors)[keyof typeof decompressors]>;

/** What a reader does to the exchange that it reads from. */
type ReaderEvents = {
  pause(): void;
  resume(): void;
  complete(body: Buffer): void;
  /** The body cannot be used; nothing more is read. */
  fail(error: UpstreamError): void;
};

/**
 * Collects the body of one response and decompresses it as it arrives. It reads at most `maxBytes` bytes,
 * before and after decompression, and fails with `UPSTREAM_INVALID_RESPONSE` beyond that.
 */
export class ResponseReader {
  readonly #maxBytes: number;
  readonly #events: ReaderEvents;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #compressedBytes = 0;
  #received = false;
  #decompressor: Decompressor | undefined;
  #decompressed = false;

  /** Throws an UpstreamError for a content coding that the request did not offer. */
  constructor(contentEncoding: string, maxBytes: number, events: ReaderEvents) {
    this.#maxBytes = maxBytes;
    this.#events = events;
    const encoding = contentEncoding.trim().toLowerCase();
    if (encoding === '' || encoding === 'identity') return;
    if (!isSupported(encoding)) throw invalidResponse('unsupported content coding');
    this.#decompressor = decompressors[encoding]()
      .on('data', (chunk: Buffer) => this.#collect(chunk))
      .on('drain', () => events.resume())
      .once('end', () => {
        // The compressed data may end before the body does.
        this.#decompressed = true;
        if (this.#received) this.#complete();
      })
      .once('error', (error) => events.fail(invalidResponse(faultOf(error))));
  }

  write(chunk: Buffer): void {
    if (!this.#decompressor) {
      this.#collect(chunk);
      return;
    }
    this.#compressedBytes += chunk.length;
    if (this.#compressedBytes > this.#maxBytes) this.#events.fail(this.#tooLarge());
    else if (this.#decompressed) this.#events.fail(trailingBytes());
    else if (!this.#decompressor.write(chunk)) this.#events.pause();
  }

  end(): void {
    this.#received = true;
    if (this.#decompressor && !this.#decompressed) this.#decompressor.end();
    else this.#complete();
  }

  destroy(): void {
    this.#decompressor?.destroy();
  }

  #collect(chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) this.#events.fail(this.#tooLarge());
    else this.#chunks.push(chunk);
  }

  #complete(): void {
    // A decompressor takes in nothing after the end of the compressed data.
    if (this.#decompressor && this.#decompressor.bytesWritten < this.#compressedBytes) {
      this.#events.fail(trailingBytes());
      return;
    }
    const [first] = this.#chunks;
    const isWhole = first && this.#chunks.length === 1;
    this.#events.complete(isWhole ? first : Buffer.concat(this.#chunks, this.#bytes));
  }

  #tooLarge(): UpstreamError {
    return invalidResponse(`larger than ${this.#maxBytes} bytes`);
  }
}

function isSupported(encoding: string): encoding is keyof typeof decompressors {
  return Object.hasOwn(decompressors, encoding);
}

function trailingBytes(): UpstreamError {
  return invalidResponse('bytes after the end of the compressed data');
}
