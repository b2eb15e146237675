import { z } from 'zod';
import { reserveOrShorten, shortForm } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import type { WriteOperation } from '../upstream/operations.ts';
import { OutcomeUnknown, recordableCodes } from '../upstream/upstream-error.ts';

/** The response of the service to a write, with its operation, or why it is not known. */
export type Outcome =
  | { readonly operation: WriteOperation; readonly response: unknown }
  | OutcomeUnknown;

/** The JSON of an outcome, as a store keeps it. */
const recordedOutcome = z.union([
  z.object({
    code: z.enum(recordableCodes),
    requestId: z.string(),
    reason: z.string().optional(),
  }),
  z.object({ operation: z.string(), response: z.unknown() }),
]);

/** What a store keeps of a response: the name of its operation, and its short form. Only the first client gets long texts. */
export function toRecord(operation: WriteOperation, response: unknown): object {
  if (response instanceof OutcomeUnknown) return response;
  return { operation: operation.name, response: shortForm(response) };
}

/**
 * Reads what a store has kept of a write of one of these operations. Undefined if it cannot be read. Reserves memory in the
 * request, because any number of requests may repeat a write with a long outcome. If there is no memory, returns the short
 * form: the outcome must reach the client.
 */
export function readRecord(
  recorded: unknown,
  writes: readonly WriteOperation[],
  reservation: Pick<RequestScope['reservation'], 'tryReserve'>,
): Outcome | undefined {
  const { data } = recordedOutcome.safeParse(reserveOrShorten(recorded, reservation));
  if (data === undefined) return undefined;
  if ('code' in data) return new OutcomeUnknown(data.code, data.requestId, data.reason);
  const operation = writes.find(({ name }) => name === data.operation);
  return operation?.isRecorded(data.response) ? { operation, response: data.response } : undefined;
}
