import type { AtMostOnce, Write, WriteState } from '@ledger-gateway/at-most-once';
import { z } from 'zod';
import { reserveOrShorten, shortForm } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import type { UpstreamCalls, Writes } from '../upstream/call.ts';
import type { AnyMember, WriteOperation, WriteRequest } from '../upstream/operations.ts';
import { OutcomeUnknown, recordableCodes } from '../upstream/upstream-error.ts';
import { ARGUMENTS, carriesKey, fingerprintOf, intentOf } from './idempotency-key.ts';
import type { IdempotencyMetrics } from './idempotency-metrics.ts';

type Options = {
  /** What sends the writes. */
  upstream: Pick<UpstreamCalls, 'write'>;
  atMostOnce: AtMostOnce;
  /** The operations that may have been recorded. */
  operations: readonly WriteOperation[];
  metrics: IdempotencyMetrics;
  /** Whether a write without a key is rejected. */
  isRequired: boolean;
  /** The timeout of a call. */
  timeoutMs: number;
};

/** What was executed with a key, and whether nothing else can have been. */
type SettledWrites = {
  writes: { responseName: string; outcome: AnyMember }[];
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

  async write<Member extends AnyMember>(
    request: WriteRequest<unknown, Member>,
    scope: RequestScope,
  ): Promise<Member | OutcomeUnknown> {
    const { isRequired, timeoutMs, atMostOnce, metrics } = this.#options;
    const givenKey = scope.givenKey();
    if (givenKey.keys.length === 0) {
      // Only a client that has sent a key sends an age.
      const isRejected = isRequired || givenKey.ages.length > 0;
      metrics.withoutKey(scope, isRejected);
      if (!isRejected) return (await this.#send(request, scope)).member;
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
    const trail = Object.assign(request.trail ?? {}, { claim: write.key });
    const send = async () => {
      metrics.count('claimed');
      const claimed = { ...request, trail, deadline };
      const { member: value, response } = await this.#send(claimed, scope);
      return { value, record: toRecord(request.operation, response) };
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
      trail.isReplay = true;
    }
    // The type is right: the fingerprint of the recorded write is the same, and so is its operation.
    return outcome as Member | OutcomeUnknown;
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
    repeat?: Pick<WriteRequest, 'identifiers'>,
  ): AnyMember {
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

  /** Sends a write, and returns its response and the union member for it. Counts and logs an outcome that is unknown. */
  async #send<Member extends AnyMember>(
    request: WriteRequest<unknown, Member>,
    scope: RequestScope,
  ): Promise<{ response: unknown; member: Member | OutcomeUnknown }> {
    const { operation, trail } = request;
    const response = await this.#options.upstream.write(request, scope);
    if (!(response instanceof OutcomeUnknown))
      return { response, member: operation.member(response) };
    const unknown = { operation: operation.name, code: response.code, claim: trail?.claim };
    this.#options.metrics.unknownOutcome(unknown, scope, request);
    return { response, member: response };
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
function toRecord({ name: operation }: WriteOperation, response: unknown): object {
  if (!(response instanceof OutcomeUnknown)) return { operation, response: shortForm(response) };
  const { code, requestId, reason } = response;
  return { code, requestId, reason };
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
): AnyMember | undefined {
  const { data } = recordedOutcome.safeParse(reserveOrShorten(recorded, reservation));
  if (data === undefined) return undefined;
  if ('code' in data) return new OutcomeUnknown(data.code, data.requestId, data.reason);
  const operation = operations.find(({ name }) => name === data.operation);
  return operation?.response.isRecorded(data.response)
    ? operation.member(data.response)
    : undefined;
}
