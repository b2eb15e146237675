import type { z } from 'zod';

/** The largest document that is read, in bytes after decompression. */
const MAX_BYTES = 1_048_576;

/** A document cannot be used. The message quotes nothing of the response. */
class Fault extends Error {}

/** The server of a document has responded with another status than 200. */
export class WrongStatus extends Fault {}

/**
 * Fetches a JSON document of an identity provider. Redirects are not followed. Throws an error that names the address,
 * without a query, and the fault: the status (a WrongStatus), the code of a connection error, or the message of the
 * schema.
 */
export async function fetchJson<Document>(
  url: URL,
  schema: z.ZodType<Document>,
  signal: AbortSignal,
): Promise<Document> {
  try {
    const { data, error } = schema.safeParse(JSON.parse(await fetchText(url, signal)));
    if (data === undefined) throw new Fault(error?.issues[0]?.message);
    return data;
  } catch (error) {
    const Failure = error instanceof WrongStatus ? WrongStatus : Error;
    throw new Failure(`${url.origin}${url.pathname}: ${faultOf(error)}`);
  }
}

async function fetchText(url: URL, signal: AbortSignal): Promise<string> {
  const headers = { accept: 'application/json, application/jwk-set+json' };
  const response = await fetch(url, { headers, redirect: 'manual', signal });
  const { status, body } = response;
  if (status !== 200) {
    await body?.cancel();
    throw new WrongStatus(`status ${status}`);
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new Fault(`over ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks)); // Skips a byte order mark.
}

/** The fault of an error of `fetch`, such as a TimeoutError. Connection errors are the cause of a TypeError. */
function faultOf(error: unknown): string {
  if (error instanceof Fault) return error.message;
  if (error instanceof SyntaxError) return 'not JSON';
  const { name = 'unknown', cause }: { name?: string; cause?: { code?: string } } = Object(error);
  return cause?.code ?? name;
}
