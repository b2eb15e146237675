import { addAbortSignal } from 'node:stream';
import { createUnzip, unzipSync } from 'node:zlib';
import { invalidResponse, noRoom, UpstreamError } from '../upstream-error.ts';
import { faultOf, tooLarge } from './transport-error.ts';

/** A body up to this size, before and after decompression, is decompressed at once, in about 0.1 ms. */
const MAX_SMALL_BYTES = { compressed: 16_384, decompressed: 65_536 };
/** Bytes that zlib processes in one step; an abort takes effect between two steps. */
const CHUNK_BYTES = 65_536;

/**
 * The body of one response, decompressed, or a promise of it if it may be large. Rejects with an UpstreamError if it is
 * invalid, when `signal` is aborted, and when `hold` returns false for so many bytes more.
 */
export type ReadBody = (
  signal: AbortSignal,
  hold: (bytes: number) => boolean,
) => Uint8Array | Promise<Uint8Array>;

/**
 * The body that was received as `rawBody`, at most `maxBytes` long after decompression. Throws an
 * UpstreamError if it is invalid. It does little work: a body that may be large is decompressed when it is read.
 */
export function responseBody(
  rawBody: Uint8Array,
  contentEncoding: string,
  maxBytes: number,
): ReadBody {
  const encoding = contentEncoding.trim().toLowerCase();
  if (encoding === '' || encoding === 'identity') return () => rawBody;
  if (encoding !== 'gzip' && encoding !== 'deflate') {
    throw invalidResponse('unsupported content coding');
  }
  const small = decompressSmall(rawBody, maxBytes);
  return small ? () => small : (...limits) => decompress(rawBody, maxBytes, ...limits);
}

/** The decompressed body, or null if it may be large. */
function decompressSmall(rawBody: Uint8Array, maxBytes: number): Uint8Array | null {
  if (rawBody.length > MAX_SMALL_BYTES.compressed) return null;
  const maxOutputLength = Math.min(MAX_SMALL_BYTES.decompressed, maxBytes);
  try {
    // The type of the result does not depend on `info` in @types/node.
    const result: unknown = unzipSync(rawBody, { maxOutputLength, info: true });
    const { buffer, engine } = result as { buffer: Uint8Array; engine: { bytesWritten: number } };
    if (engine.bytesWritten < rawBody.length) throw trailingBytes();
    return buffer;
  } catch (error) {
    if (faultOf(error) === 'ERR_BUFFER_TOO_LARGE') return null;
    throw asInvalid(error);
  }
}

async function decompress(
  rawBody: Uint8Array,
  maxBytes: number,
  signal: AbortSignal,
  hold: (bytes: number) => boolean,
): Promise<Uint8Array> {
  const decompressor = addAbortSignal(signal, createUnzip({ chunkSize: CHUNK_BYTES }));
  for (let from = 0; from < rawBody.length; from += CHUNK_BYTES) {
    decompressor.write(rawBody.subarray(from, from + CHUNK_BYTES));
  }
  decompressor.end();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of decompressor as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      if (!hold(chunk.length)) throw noRoom();
      chunks.push(chunk);
    }
  } catch (error) {
    throw asInvalid(error);
  }
  // A decompressor takes in nothing after the end of the compressed data.
  if (decompressor.bytesWritten < rawBody.length) throw trailingBytes();
  return Buffer.concat(chunks, bytes);
}

function trailingBytes(): UpstreamError {
  return invalidResponse('bytes after the end of the compressed data');
}

function asInvalid(error: unknown): UpstreamError {
  return error instanceof UpstreamError ? error : invalidResponse(faultOf(error));
}
