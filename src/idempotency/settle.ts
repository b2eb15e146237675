import type { Settlement } from '@ledger-gateway/at-most-once';
import { poll } from '../lib/poll.ts';
import type { RequestScope } from '../request-scope.ts';
import { OutcomeUnknown } from '../upstream/upstream-error.ts';
import { ARGUMENTS, carriesKey, intentOf } from './idempotency-key.ts';
import type { IdempotencyParts } from './idempotent-call.ts';
import type { Outcome } from './recorded-outcome.ts';

/** What was executed with a key, and whether nothing else can have been. */
export type SettledWrites = {
  writes: { responseName: string; outcome: Outcome }[];
  isComplete: boolean;
  /** Whether the request itself carried the key. If not, something on the way may remove the keys of writes, too. */
  keyArrived: boolean;
};

export type Settle = ReturnType<typeof createSettle>;

/**
 * Creates the function that closes a key and returns the outcomes of its writes. It never calls the service. It waits
 * for writes in flight as a repeat does. Throws `BAD_USER_INPUT` or `IDEMPOTENCY_UNAVAILABLE`.
 */
export function createSettle(options: Omit<IdempotencyParts, 'calls' | 'isRequired'>) {
  const { claims, openWrites, readOutcome, timeoutMs, metrics } = options;

  return async function settle(
    key: string,
    ageMs: number | null | undefined,
    scope: RequestScope,
  ): Promise<SettledWrites> {
    const ages = typeof ageMs === 'number' ? [ageMs] : [];
    const intent = intentOf({ keys: [key], ages }, scope, ARGUMENTS);
    const keyArrived = carriesKey(scope, key);
    const deadline = performance.now() + timeoutMs;
    const inProgress = new OutcomeUnknown('IN_PROGRESS', scope.requestId);
    const orphaned = new OutcomeUnknown('ORPHANED', scope.requestId);
    const outcomeOf = (write: Settlement['writes'][number]): Outcome => {
      if (write.state === 'orphaned' && write.isNew) {
        metrics.unknownOutcome(write.operation, 'ORPHANED', scope, intent.key);
      }
      const recorded = write.state === 'recorded' ? readOutcome(write.outcome, scope) : null;
      return recorded ?? (write.state === 'in-flight' ? inProgress : orphaned);
    };
    let settled: SettledWrites | undefined;
    const attempt = async () => {
      const settling = claims.settle(intent);
      const { writes, isComplete } = await metrics.timed('settle', intent.caller, settling);
      const known = new Map(writes.map((write) => [write.responseName, outcomeOf(write)]));
      // This process knows the outcomes of its own writes before the store has them, and even if the store has lost their claims.
      for (const { claim, outcome = inProgress } of openWrites.writes) {
        if (claim.key === intent.key) known.set(claim.responseName, outcome);
      }
      const outcomes = [...known].map(([responseName, outcome]) => ({ responseName, outcome }));
      settled = { writes: outcomes, isComplete, keyArrived };
      return known.values().some((outcome) => outcome === inProgress) ? null : settled;
    };
    await poll(attempt, deadline, scope.signal).catch((error: unknown) => {
      // The first attempt has closed the key, so the client must learn what is known.
      if (settled === undefined) throw metrics.rejected(error, scope, intent.key);
    });
    return settled ?? { writes: [], isComplete: false, keyArrived };
  };
}
