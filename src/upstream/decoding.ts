import type { Holding } from '../account/account.ts';
import { SHORT_WORK, type Turn } from '../account/turns.ts';
import { GatewayError } from '../errors/gateway-error.ts';
import { JsonLimitExceeded } from '../lib/json.ts';
import { type OperationName, operations, type Responses } from './operations.ts';
import { ContractFault, parseBody } from './records.ts';
import { invalidResponse, noRoom } from './upstream-error.ts';

/** The memory of decoding a body, in multiples of it: its parts, its text, and the values. */
const DECODED = 5;

/**
 * Books the memory of receiving and decoding so many bytes of a response to a read. Throws an UpstreamError if there is
 * none in time, or never can be.
 */
export async function holdResponse(
  holding: Holding,
  bytes: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  await holding.holdAll(bytes * DECODED, signal).catch((error: unknown) => {
    const isTooMuch = error instanceof GatewayError && error.code === 'OPERATION_LIMIT_EXCEEDED';
    throw (isTooMuch ? invalidResponse : noRoom)(`no memory to decode ${bytes} bytes`);
  });
}

/**
 * Decodes the body of a response, in turns of its caller. Throws an UpstreamError if it is invalid, or if there is no
 * memory for a read in time, or never can be.
 */
export async function decode<Name extends OperationName>(
  operation: Name,
  body: Uint8Array,
  turn: Turn,
  holding: Holding,
  signal: AbortSignal | undefined,
): Promise<Responses[Name]> {
  if (operations[operation].effect === 'read') await holdResponse(holding, body.length, signal);
  await turn(body.length, signal);
  const steps = parseBody(body);
  for (let isParsed = false; ; ) {
    try {
      const { done = false, value } = steps.next();
      isParsed = done;
      if (done) return operations[operation].decode(value, body.length);
    } catch (error) {
      const isOurs = error instanceof JsonLimitExceeded || error instanceof ContractFault;
      if (isParsed && !isOurs) throw error; // A bug.
      // The error of a parser quotes the body, which may be confidential.
      const reason = isOurs ? error.message : 'not JSON';
      throw invalidResponse(`${reason}, ${body.length} bytes`);
    }
    await turn(SHORT_WORK, signal);
  }
}
