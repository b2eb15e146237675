import { z } from 'zod';
import { reserveOrShorten } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import { operations, type Responses, type WriteName } from '../upstream/operations.ts';
import { OutcomeUnknown, recordableCodes } from '../upstream/upstream-error.ts';

/** The response of the service to a write, with its operation, by which it is decoded. */
export type KnownOutcome = {
  [Name in WriteName]: { operation: Name; response: Responses[Name] };
}[WriteName];

export type Outcome = KnownOutcome | OutcomeUnknown;

/** An outcome from the response to an operation. The types cannot say that the two belong together. */
export const knownOutcome = (operation: WriteName, response: unknown) =>
  ({ operation, response }) as KnownOutcome;

export const isWriteName = (name: string): name is WriteName =>
  Object.hasOwn(operations, name) && operations[name as WriteName].effect === 'write';

/** The JSON of an outcome, as a store keeps it. */
const recordedOutcome = z.union([
  z.object({
    code: z.enum(recordableCodes),
    requestId: z.string(),
    reason: z.string().optional(),
  }),
  z.object({ operation: z.string().refine(isWriteName), response: z.unknown() }),
]);

/**
 * Reads a recorded outcome. Null if the value is not one. Reserves memory in the request, because any number of requests may
 * repeat a write with a long outcome. If there is no memory, returns the short form: the outcome must reach the client.
 */
export function readOutcome(
  outcome: unknown,
  { reservation }: Pick<RequestScope, 'reservation'>,
): Outcome | null {
  const { data } = recordedOutcome.safeParse(reserveOrShorten(outcome, reservation));
  if (data === undefined) return null;
  if ('code' in data) return new OutcomeUnknown(data.code, data.requestId, data.reason);
  const { operation, response } = data;
  return operations[operation].isRecorded(response) ? knownOutcome(operation, response) : null;
}
