import type { AtMostOnce, Write } from '@ledger-gateway/at-most-once';
import type { RequestScope } from '../request-scope.ts';
import type { Calls } from '../upstream/call.ts';
import type { WriteRequest } from '../upstream/operations.ts';
import { OutcomeUnknown } from '../upstream/upstream-error.ts';
import { fingerprintOf, intentOf } from './idempotency-key.ts';
import type { IdempotencyMetrics } from './idempotency-metrics.ts';
import { type OutcomeOf, toRecord } from './recorded-outcome.ts';

/** The parts that writes with a key and settling use. */
export type IdempotencyParts = {
  calls: Calls;
  atMostOnce: AtMostOnce;
  outcomeOf: OutcomeOf;
  metrics: IdempotencyMetrics;
  /** Whether a write without a key is rejected. */
  isRequired: boolean;
  /** The timeout of a call. */
  timeoutMs: number;
};

/** Sends writes with an `Idempotency-Key` at most once (docs/decisions/0012). Reads and writes without a key pass through. */
export class IdempotentCalls implements Calls {
  readonly #options: IdempotencyParts;

  constructor(options: IdempotencyParts) {
    this.#options = options;
  }

  readonly read: Calls['read'] = (request, scope) => this.#options.calls.read(request, scope);

  async write<Result>(
    request: WriteRequest<Result>,
    scope: RequestScope,
  ): Promise<Result | OutcomeUnknown> {
    const { calls, isRequired, timeoutMs, atMostOnce, outcomeOf, metrics } = this.#options;
    const givenKey = scope.givenKey();
    if (givenKey.keys.length === 0) {
      // Only a client that has sent a key sends an age.
      const isRejected = isRequired || givenKey.ages.length > 0;
      metrics.withoutKey(scope, isRejected);
      if (!isRejected) return this.#noted(await calls.write(request, scope), request, scope);
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
      const value = this.#noted(await calls.write(claimed, scope), claimed, scope);
      return { value, record: toRecord(request.operation, value) };
    };
    const result = await atMostOnce.run(write, send).catch((error: unknown) => {
      throw metrics.rejected(error, scope, write.key);
    });
    if (result.state === 'executed') return result.value;
    const outcome = outcomeOf(result, write.key, scope, request);
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
