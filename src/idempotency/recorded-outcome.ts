import type { WriteState } from '@ledger-gateway/at-most-once';
import { z } from 'zod';
import { reserveOrShorten, shortForm } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import type { WriteOperation, WriteRequest } from '../upstream/operations.ts';
import { OutcomeUnknown, recordableCodes } from '../upstream/upstream-error.ts';
import type { IdempotencyMetrics } from './idempotency-metrics.ts';

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

/** What a store keeps of a response: the name of its operation, and its short form. Only the first client gets long texts. */
export function toRecord(operation: WriteOperation, response: unknown): object {
  if (response instanceof OutcomeUnknown) return response;
  return { operation: operation.name, response: shortForm(response) };
}

export type OutcomeOf = ReturnType<typeof createOutcomeOf>;

/**
 * Creates a function that returns the outcome of a write that an earlier request has sent, or may have. It is unknown if the
 * record of it is lost or cannot be read. Counts and logs a write whose outcome has become unknown.
 */
export function createOutcomeOf(writes: readonly WriteOperation[], metrics: IdempotencyMetrics) {
  const byName = new Map(writes.map((operation) => [operation.name, operation]));

  /**
   * Reserves memory in the request, because any number of requests may repeat a write with a long outcome. If there is no memory,
   * returns the short form: the outcome must reach the client.
   */
  function read(
    recorded: unknown,
    { reservation }: Pick<RequestScope, 'reservation'>,
  ): Outcome | null {
    const { data } = recordedOutcome.safeParse(reserveOrShorten(recorded, reservation));
    if (data === undefined) return null;
    if ('code' in data) return new OutcomeUnknown(data.code, data.requestId, data.reason);
    const operation = byName.get(data.operation);
    return operation?.isRecorded(data.response) ? { operation, response: data.response } : null;
  }

  type Scope = Pick<RequestScope, 'caller' | 'requestId' | 'reservation'>;
  return (
    state: WriteState,
    claim: string,
    scope: Scope,
    repeat?: Pick<WriteRequest, 'targets'>,
  ): Outcome => {
    if (state.state === 'in-flight') return new OutcomeUnknown('IN_PROGRESS', scope.requestId);
    if (state.state === 'orphaned' && state.isNew) {
      const { operation } = state;
      metrics.unknownOutcome({ operation, code: 'ORPHANED', claim }, scope, repeat);
    }
    const known = state.state === 'recorded' ? read(state.outcome, scope) : null;
    return known ?? new OutcomeUnknown('ORPHANED', scope.requestId);
  };
}
