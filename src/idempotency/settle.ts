import { poll } from '../lib/poll.ts';
import type { RequestScope } from '../request-scope.ts';
import { OutcomeUnknown } from '../upstream/upstream-error.ts';
import type { Settlement } from './claims.ts';
import { ARGUMENTS, intentOf } from './idempotency-key.ts';
import type { IdempotencyParts } from './idempotent-call.ts';
import { type KnownOutcome, readOutcome } from './recorded-outcome.ts';

/** What was executed with a key, and whether nothing else can have been. */
export type SettledWrites = {
  writes: { responseName: string; outcome: KnownOutcome | OutcomeUnknown }[];
  isComplete: boolean;
};

export type Settle = ReturnType<typeof createSettle>;

/**
 * Creates the function that closes a key and returns the outcomes of its writes. It never calls the service. It waits
 * for writes in flight as a repeat does. Throws `BAD_USER_INPUT` or `IDEMPOTENCY_UNAVAILABLE`.
 */
export function createSettle(options: Omit<IdempotencyParts, 'calls' | 'isRequired'>) {
  const { claims, openWrites, timeoutMs, metrics } = options;

  return async function settle(
    key: string,
    ageMs: number | null | undefined,
    scope: RequestScope,
  ): Promise<SettledWrites> {
    const intent = intentOf(key, ageMs, scope, ARGUMENTS);
    const deadline = performance.now() + timeoutMs;
    let settled: SettledWrites | undefined;
    const attempt = async () => {
      const settling = claims.settle(intent);
      const { writes, isComplete } = await metrics.timed('settle', intent.caller, settling);
      // Those of this process are known before the store has them, and although it may have lost their claims.
      const open = openWrites.ofKey(intent.key);
      const inProgress = new OutcomeUnknown('IN_PROGRESS', scope.requestId);
      const known = new Map(
        open.map(({ responseName, outcome = inProgress }) => [responseName, outcome]),
      );
      let isPending = open.some(({ outcome }) => outcome === undefined);
      for (const write of writes) {
        if (write.state === 'orphaned' && write.isNew) {
          metrics.unknownOutcome(write.operation, 'ORPHANED', scope, intent.key);
        }
        if (known.has(write.responseName)) continue;
        known.set(write.responseName, outcomeOf(write, scope));
        isPending ||= write.state === 'in-flight';
      }
      const outcomes = [...known].map(([responseName, outcome]) => ({ responseName, outcome }));
      settled = { writes: outcomes, isComplete };
      return isPending ? null : settled;
    };
    await poll(attempt, deadline, scope.signal).catch((error: unknown) => {
      // The first attempt has closed the key, so the client must learn what is known.
      if (settled === undefined) throw metrics.rejected(error);
    });
    return settled ?? { writes: [], isComplete: false };
  };
}

function outcomeOf(write: Settlement['writes'][number], scope: RequestScope) {
  if (write.state === 'in-flight') return new OutcomeUnknown('IN_PROGRESS', scope.requestId);
  const read = write.state === 'recorded' ? readOutcome(write.outcome, scope) : null;
  return read ?? new OutcomeUnknown('ORPHANED', scope.requestId);
}
