import { addAbortSignal, type Duplex } from 'node:stream';
import * as zlib from 'node:zlib';
import { printable } from '../../lib/short-text.ts';
import { faultOf, invalidResponse, UpstreamError } from '../upstream-error.ts';
import { BodyParts } from './body-parts.ts';
import type { ExchangeLimits, RawResponse } from './send-once.ts';

/** A body up to this size, before and after decompression, is decompressed at once, in about 0.1 ms. */
const MAX_SMALL_BYTES = { compressed: 16_384, decompressed: 65_536 };
/** Bytes that zlib returns in one step; an abort takes effect between two steps. */
const chunks = { chunkSize: 65_536 };

/** Parts of a body that each have an end of their own. One takes 0.1 ms, even if it is empty. */
const MAX_FRAMES = 1000;

/** How a content coding is removed. */
type Coding = {
  create(): Duplex & { readonly bytesWritten: number };
  /** Undefined if even a short body may take long to decompress. */
  atOnce?: typeof zlib.unzipSync;
  /** How much memory decompression takes, as a multiple of the bytes that it has returned. */
  memory: number;
  /** Whether Node ends with the first of several frames (nodejs/node#64741). */
  endsEarly?: boolean;
};

/** gzip, or deflate with the wrapper of zlib. */
const wrapped: Coding = {
  create: () => zlib.createUnzip(chunks),
  atOnce: zlib.unzipSync,
  memory: 1,
};
const raw: Coding = {
  create: () => zlib.createInflateRaw(chunks),
  atOnce: zlib.inflateRawSync,
  memory: 1,
};

/** The codings, by their names in `Content-Encoding`. Services and proxies also send some that the gateway did not ask for. */
const codings = new Map<string, (body: Uint8Array) => Coding>([
  ['gzip', () => wrapped],
  ['x-gzip', () => wrapped],
  ['deflate', (body) => (isWrapped(body) ? wrapped : raw)],
  // These two refer back to all that they have returned.
  ['br', () => ({ create: () => zlib.createBrotliDecompress(chunks), memory: 2 })],
  ['zstd', () => ({ create: () => zlib.createZstdDecompress(chunks), memory: 2, endsEarly: true })],
]);

/**
 * Whether deflate has a wrapper, as HTTP demands: that of zlib (its method is 8), or of gzip. Some servers leave it out. No
 * encoder begins raw deflate with such a byte: it would be padding that is not 0, or a reserved type of block.
 */
function isWrapped([first = 0]: Uint8Array): boolean {
  return (first & 0x0f) === 8 || first === 0x1f;
}

/** The decompressed body of a response, or a promise of it if it may be large. Throws an UpstreamError. */
export function responseBody(
  { headers, rawBody }: Pick<RawResponse, 'headers' | 'rawBody'>,
  limits: ExchangeLimits,
): Uint8Array | Promise<Uint8Array> {
  // Two such headers are an array.
  const name = String(headers['content-encoding'] ?? '').trim();
  if (name === '' || name.toLowerCase() === 'identity') return rawBody;
  const coding = codings.get(name.toLowerCase())?.(rawBody);
  if (!coding) throw invalidResponse(`content coding not supported: ${printable(name)}`);
  return decompressSmall(coding, rawBody, limits.maxBytes) ?? decompress(coding, rawBody, limits);
}

/** The decompressed body, or null if it may be large, or may take long. */
function decompressSmall(
  { atOnce }: Coding,
  rawBody: Uint8Array,
  maxBytes: number,
): Uint8Array | null {
  if (!atOnce || rawBody.length > MAX_SMALL_BYTES.compressed) return null;
  const maxOutputLength = Math.min(MAX_SMALL_BYTES.decompressed, maxBytes);
  try {
    return atOnce(rawBody, { maxOutputLength });
  } catch (error) {
    if (faultOf(error) === 'ERR_BUFFER_TOO_LARGE') return null;
    throw invalidResponse(faultOf(error));
  }
}

async function decompress(
  { create, memory, endsEarly }: Coding,
  rawBody: Uint8Array,
  { signal, ...limits }: ExchangeLimits,
): Promise<Uint8Array> {
  const tryReserve = (bytes: number) => limits.tryReserve(bytes * memory);
  const body = new BodyParts({ ...limits, tryReserve });
  let [rest, frames] = [rawBody, 0];
  try {
    do {
      frames += 1;
      if (frames > MAX_FRAMES) throw invalidResponse(`more than ${MAX_FRAMES} frames`);
      const decompressor = addAbortSignal(signal, create());
      decompressor.end(rest);
      for await (const part of decompressor as AsyncIterable<Uint8Array>) body.add(part);
      rest = rest.subarray(decompressor.bytesWritten);
    } while (endsEarly && rest.length > 0);
  } catch (error) {
    throw error instanceof UpstreamError ? error : invalidResponse(faultOf(error));
  }
  return body.join();
}
