import type { Holding } from '../account/account.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { type OperationName, operations, type Responses } from './operations.ts';
import { ContractFault, parseBody } from './records.ts';
import { invalidResponse, noRoom } from './upstream-error.ts';

/** The memory of decoding a body, in multiples of it: its parts, its text, and the values. */
const DECODED = 5;

/**
 * Books the memory of receiving and decoding so many bytes of a response to a read. Undefined if it is booked at once.
 * Rejects with an UpstreamError if there is none in time, or never can be.
 */
export function holdResponse(
  holding: Holding,
  bytes: number,
  signal: AbortSignal,
): Promise<void> | undefined {
  return holding.holdAll(bytes * DECODED, signal)?.catch((error: unknown) => {
    const isTooMuch = error instanceof GatewayError && error.code === 'OPERATION_LIMIT_EXCEEDED';
    throw (isTooMuch ? invalidResponse : noRoom)(`no memory to decode ${bytes} bytes`);
  });
}

/** Decodes the body of a response. Throws an UpstreamError if it is invalid. */
export function decode<Name extends OperationName>(
  operation: Name,
  body: Uint8Array,
): Responses[Name] {
  try {
    return operations[operation].decode(parseBody(body), body.length);
  } catch (error) {
    if (!(error instanceof ContractFault)) throw error; // A bug.
    throw invalidResponse(`${error.message}, ${body.length} bytes`);
  }
}
