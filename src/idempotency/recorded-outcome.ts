import { z } from 'zod';
import { reserveOrShorten } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import type { WriteOperation } from '../upstream/operations.ts';
import { OutcomeUnknown, recordableCodes } from '../upstream/upstream-error.ts';

/** The response of the service to a write, with its operation. */
export type KnownOutcome = { readonly operation: WriteOperation; readonly response: unknown };

export type Outcome = KnownOutcome | OutcomeUnknown;

/** The JSON of an outcome, as a store keeps it. */
const recordedOutcome = z.union([
  z.object({
    code: z.enum(recordableCodes),
    requestId: z.string(),
    reason: z.string().optional(),
  }),
  z.object({ operation: z.string(), response: z.unknown() }),
]);

/** An outcome as a store keeps it: with the name of its operation. */
export function toRecord(outcome: Outcome): object {
  if (outcome instanceof OutcomeUnknown) return outcome;
  return { operation: outcome.operation.name, response: outcome.response };
}

export type ReadOutcome = ReturnType<typeof createOutcomeReader>;

/**
 * Creates a function that reads a recorded outcome of one of these writes. It returns null if the value is not one. It reserves
 * memory in the request, because any number of requests may repeat a write with a long outcome. If there is no memory, it
 * returns the short form: the outcome must reach the client.
 */
export function createOutcomeReader(writes: readonly WriteOperation[]) {
  const byName = new Map(writes.map((operation) => [operation.name, operation]));
  return (
    recorded: unknown,
    { reservation }: Pick<RequestScope, 'reservation'>,
  ): Outcome | null => {
    const { data } = recordedOutcome.safeParse(reserveOrShorten(recorded, reservation));
    if (data === undefined) return null;
    if ('code' in data) return new OutcomeUnknown(data.code, data.requestId, data.reason);
    const operation = byName.get(data.operation);
    return operation?.isRecorded(data.response) ? { operation, response: data.response } : null;
  };
}
