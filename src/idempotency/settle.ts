import type { RequestScope } from '../request-scope.ts';
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
export function createSettle({
  atMostOnce,
  outcomeOf,
  metrics,
}: Pick<IdempotencyParts, 'atMostOnce' | 'outcomeOf' | 'metrics'>) {
  return async function settle(
    key: string,
    ageMs: number | null | undefined,
    scope: RequestScope,
  ): Promise<SettledWrites> {
    const ages = typeof ageMs === 'number' ? [ageMs] : [];
    const intent = intentOf({ keys: [key], ages }, scope, ARGUMENTS);
    const settling = atMostOnce.settle(intent, scope.signal);
    const { writes, isComplete } = await settling.catch((error: unknown) => {
      throw metrics.rejected(error, scope, intent.key);
    });
    const outcomes = writes.map(({ responseName, ...state }) => {
      return { responseName, outcome: outcomeOf(state, intent.key, scope) };
    });
    return { writes: outcomes, isComplete, keyArrived: carriesKey(scope, key) };
  };
}
