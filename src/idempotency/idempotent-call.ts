import type { AtMostOnce, Write, WriteState } from '@ledger-gateway/at-most-once';
import { z } from 'zod';
import { reserveOrShorten, shortForm } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Writes } from '../upstream/call.ts';
import type { WriteOperation, WriteRequest } from '../upstream/operations.ts';
import { OutcomeUnknown, recordableCodes } from '../upstream/upstream-error.ts';
import { ARGUMENTS, carriesKey, fingerprintOf, intentOf } from './idempotency-key.ts';
import type { IdempotencyMetrics } from './idempotency-metrics.ts';

type Options = {
  /** What sends the writes. */
  writes: Writes;
  atMostOnce: AtMostOnce;
  /** The operations that may have been recorded. */
  operations: readonly WriteOperation[];
  metrics: IdempotencyMetrics;
  /** Whether a write without a key is rejected. */
  isRequired: boolean;
  /** The timeout of a call. */
  timeoutMs: number;
};

/** The response of the service to a write, with its operation, or why it is not known. */
export type Outcome =
  | { readonly operation: WriteOperation; readonly response: unknown }
  | OutcomeUnknown;

/** What was executed with a key, and whether nothing else can have been. */
type SettledWrites = {
  writes: { responseName: string; outcome: Outcome }[];
  isComplete: boolean;
  /** Whether the request itself carried the key. If not, something on the way may remove the keys of writes, too. */
  keyArrived: boolean;
};

/** Sends writes with an `Idempotency-Key` at most once (docs/decisions/0012). Writes without a key pass through. */
export class IdempotentCalls implements Writes {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  async write<Result>(
    request: WriteRequest<Result>,
    scope: RequestScope,
  ): Promise<Result | OutcomeUnknown> {
    const { writes, isRequired, timeoutMs, atMostOnce, metrics } = this.#options;
    const givenKey = scope.givenKey();
    if (givenKey.keys.length === 0) {
      // Only a client that has sent a key sends an age.
      const isRejected = isRequired || givenKey.ages.length > 0;
      metrics.withoutKey(scope, isRejected);
      if (!isRejected) return this.#noted(await writes.write(request, scope), request, scope);
    }
    const deadline = performance.now() + timeoutMs;
    let hasWaited = false;
    const write: Write = {
      ...intentOf(givenKey, scope),
      responseName: scope.idempotencyResponseName ?? request.responseName,
      operation: request.operation.name,
      fingerprint: fingerprintOf(request, scope.forwarded),
      signal: scope.signal,
      onWait() {
        hasWaited = true;
        metrics.count('joined');
      },
    };
    request.observer?.claimed(write.key);
    const send = async () => {
      metrics.count('claimed');
      const claimed = { ...request, claimId: write.key, deadline };
      const value = this.#noted(await writes.write(claimed, scope), claimed, scope);
      return { value, record: toRecord(request.operation, value) };
    };
    const result = await atMostOnce.run(write, send).catch((error: unknown) => {
      throw metrics.rejected(error, scope, write.key);
    });
    if (result.state === 'executed') return result.value;
    const outcome = this.#outcomeOf(result, write.key, scope, request);
    // A record that cannot be read is as good as lost.
    const isLost = outcome instanceof OutcomeUnknown && outcome.code === 'ORPHANED';
    if (isLost) metrics.count('orphaned');
    else if (result.state === 'recorded') {
      if (!hasWaited) metrics.count('replayed');
      scope.state.isReplay = true;
      request.observer?.replayed();
    }
    // The type is right: the fingerprint of the recorded write is the same, and so is its operation.
    return outcome instanceof OutcomeUnknown ? outcome : (outcome.response as Result);
  }

  /**
   * Closes a key and returns the outcomes of its writes. Never calls the service. Waits for writes in flight as a repeat does.
   * Throws `BAD_USER_INPUT` or `IDEMPOTENCY_UNAVAILABLE`.
   */
  async settle(
    key: string,
    ageMs: number | null | undefined,
    scope: RequestScope,
  ): Promise<SettledWrites> {
    const { atMostOnce, metrics } = this.#options;
    const intent = intentOf({ keys: [key], ages: ageMs == null ? [] : [ageMs] }, scope, ARGUMENTS);
    const settling = atMostOnce.settle(intent, scope.signal);
    const { writes, isComplete } = await settling.catch((error: unknown) => {
      throw metrics.rejected(error, scope, intent.key);
    });
    const outcomes = writes.map(({ responseName, ...state }) => {
      return { responseName, outcome: this.#outcomeOf(state, intent.key, scope) };
    });
    return { writes: outcomes, isComplete, keyArrived: carriesKey(scope, key) };
  }

  /** Updates the store with what it does not have yet, and closes it. */
  close(): Promise<void> {
    return this.#options.atMostOnce.close();
  }

  /**
   * The outcome of a write that an earlier request has sent, or may have. It is unknown if its record is lost or cannot be read.
   * Counts and logs a write whose outcome has become unknown.
   */
  #outcomeOf(
    state: WriteState,
    claim: string,
    scope: RequestScope,
    repeat?: Pick<WriteRequest, 'targets'>,
  ): Outcome {
    const { operations, metrics } = this.#options;
    if (state.state === 'in-flight') return new OutcomeUnknown('IN_PROGRESS', scope.requestId);
    if (state.state === 'orphaned' && state.isNew) {
      const { operation } = state;
      metrics.unknownOutcome({ operation, code: 'ORPHANED', claim }, scope, repeat);
    }
    const isRecorded = state.state === 'recorded';
    const known = isRecorded && readRecord(state.outcome, operations, scope.reservation);
    return known || new OutcomeUnknown('ORPHANED', scope.requestId);
  }

  /** Counts and logs an outcome that is unknown. */
  #noted<Outcome>(outcome: Outcome, request: WriteRequest, scope: RequestScope): Outcome {
    if (outcome instanceof OutcomeUnknown) {
      const { operation, claimId: claim } = request;
      const unknown = { operation: operation.name, code: outcome.code, claim };
      this.#options.metrics.unknownOutcome(unknown, scope, request);
    }
    return outcome;
  }
}

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
function toRecord(operation: WriteOperation, response: unknown): object {
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
  operations: readonly WriteOperation[],
  reservation: Pick<RequestScope['reservation'], 'tryReserve'>,
): Outcome | undefined {
  const { data } = recordedOutcome.safeParse(reserveOrShorten(recorded, reservation));
  if (data === undefined) return undefined;
  if ('code' in data) return new OutcomeUnknown(data.code, data.requestId, data.reason);
  const operation = operations.find(({ name }) => name === data.operation);
  return operation?.isRecorded(data.response) ? { operation, response: data.response } : undefined;
}
