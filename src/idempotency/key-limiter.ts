import { type Intent, type Limiter, StoreUnavailable } from '@ledger-gateway/at-most-once';
import { Gate, rejectionWith } from '../admission/gate.ts';

/** Limits how many changes of keys are in progress, by caller: thousands of changes of one caller would delay those of others. */
export function createKeyLimiter(): Limiter {
  const gate = new Gate<Intent['caller']>({
    limit: 64, // More would only wait for each other in the store.
    maxWaiting: Infinity,
    maxWaitMs: 5000,
    rejection: rejectionWith(new StoreUnavailable('busy')),
  });
  return {
    enter: (caller, isUrgent) => gate.enter(caller, { isUrgent }),
    leave: (caller) => gate.leave(caller),
  };
}
