import { isPromise } from 'node:util/types';
import type { Reservation } from '../admission/memory.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import { interpretError } from './error-status.ts';
import type { UpstreamRequest } from './operations.ts';
import { parseBody } from './responses.ts';
import { responseBody } from './transport/response-body.ts';
import type { ExchangeLimits, RawResponse } from './transport/send-once.ts';
import { invalidResponse, noRoom, UpstreamError } from './upstream-error.ts';

/** How many bytes of a response to a write are received even if there is no memory. Up to 256 writes may be in flight. */
const MAX_UNRESERVED = 131_072;
/** How many times its length a body takes while it is decoded: for its parts, its text, and the values. */
const DECODED = 5;

/** The limits of a response. One of ordinary length to a write is received even without memory: its outcome must reach the client. */
export function limitsOf(
  effect: 'read' | 'write',
  reservation: Reservation,
  maxBytes: number,
  signal: AbortSignal,
): ExchangeLimits {
  const isWrite = effect === 'write';
  let received = 0;
  return {
    signal,
    maxBytes,
    cutsTexts: isWrite,
    tryReserve(bytes) {
      received += bytes;
      return reservation.tryReserveTotal(received) || (isWrite && received <= MAX_UNRESERVED);
    },
    reserve(bytes) {
      const waiting = isWrite ? undefined : reservation.reserveTotal(bytes * DECODED, signal);
      return waiting && withMemory(waiting);
    },
  };
}

/** Reads the result of a response: what it carries, or a status record by which a refusal says more. Rejects with an UpstreamError. */
export async function readResponse<Result>(
  request: UpstreamRequest<Result>,
  response: RawResponse,
  limits: ExchangeLimits,
  scope: RequestScope,
  reservation: Reservation,
): Promise<Result> {
  const { operation } = request;
  if (response.statusCode > 299) {
    const body = await readErrorBody(response, limits);
    const found = interpretError(request, { ...response, body });
    if (found instanceof UpstreamError) throw found;
    return operation.response.ofStatus(found);
  }
  const isCoded = 'content-encoding' in response.headers;
  const body = isCoded ? responseBody(response, limits) : response.rawBody;
  const bytes = isPromise(body) ? await body : body;
  const reserving = limits.reserve(bytes.length);
  if (reserving) await reserving;
  // The response to a write is always decoded, even after the deadline and without memory, because it carries the outcome.
  const signal = operation.effect === 'write' ? undefined : limits.signal;
  for (;;) {
    const turn = scope.turn(signal);
    if (turn) await turn;
    // A list may take 50 times the memory of its text, which is reserved once the list exists: earlier lists come first.
    const waiting = signal && reservation.waitForShare(signal);
    if (!waiting) return operation.response.decode(bytes);
    await withMemory(waiting);
  }
}

/** The parsed body of a response with an error status. Undefined if it cannot be read: then its status says all. */
async function readErrorBody(response: RawResponse, limits: ExchangeLimits): Promise<unknown> {
  try {
    return parseBody(await responseBody(response, limits));
  } catch (error) {
    if (error instanceof UpstreamError) return undefined;
    throw error; // This is a bug of the gateway.
  }
}

/** Waits for memory. Rejects with an UpstreamError if there is none in time, or never can be. */
function withMemory(waiting: Promise<void>): Promise<void> {
  return waiting.catch((error: unknown) => {
    const isTooMuch = error instanceof GatewayError && error.code === 'OPERATION_LIMIT_EXCEEDED';
    throw (isTooMuch ? invalidResponse : noRoom)('no memory to decode the response');
  });
}
