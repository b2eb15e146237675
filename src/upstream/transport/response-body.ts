import { addAbortSignal } from 'node:stream';
import { createUnzip, unzipSync } from 'node:zlib';
import { invalidResponse, noRoom, UpstreamError } from '../upstream-error.ts';
import type { BodyLimits, RawResponse } from './send-once.ts';
import { faultOf, tooLarge } from './transport-error.ts';

/** A body up to this size, before and after decompression, is decompressed at once, in about 0.1 ms. */
const MAX_SMALL_BYTES = { compressed: 16_384, decompressed: 65_536 };
/** Bytes that zlib returns in one step; an abort takes effect between two steps. */
const CHUNK_BYTES = 65_536;

/** The decompressed body of a response, or a promise of it if it may be large. Throws an UpstreamError. */
export function responseBody(
  { headers, rawBody }: Pick<RawResponse, 'headers' | 'rawBody'>,
  limits: BodyLimits,
): Uint8Array | Promise<Uint8Array> {
  // Two such headers are an array.
  const encoding = String(headers['content-encoding'] ?? '')
    .trim()
    .toLowerCase();
  if (encoding === '' || encoding === 'identity') return rawBody;
  if (encoding !== 'gzip' && encoding !== 'deflate') {
    throw invalidResponse('unsupported content coding');
  }
  return decompressSmall(rawBody, limits.maxBytes) ?? decompress(rawBody, limits);
}

/** The decompressed body, or null if it may be large. */
function decompressSmall(rawBody: Uint8Array, maxBytes: number): Uint8Array | null {
  if (rawBody.length > MAX_SMALL_BYTES.compressed) return null;
  const maxOutputLength = Math.min(MAX_SMALL_BYTES.decompressed, maxBytes);
  try {
    return unzipSync(rawBody, { maxOutputLength });
  } catch (error) {
    if (faultOf(error) === 'ERR_BUFFER_TOO_LARGE') return null;
    throw invalidResponse(faultOf(error));
  }
}

async function decompress(
  rawBody: Uint8Array,
  { signal, maxBytes, tryReserve }: BodyLimits,
): Promise<Uint8Array> {
  const decompressor = addAbortSignal(signal, createUnzip({ chunkSize: CHUNK_BYTES }));
  decompressor.end(rawBody);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of decompressor as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > maxBytes) throw tooLarge(maxBytes);
      if (!tryReserve(chunk.length)) throw noRoom();
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof UpstreamError ? error : invalidResponse(faultOf(error));
  }
  return Buffer.concat(chunks, bytes);
}
