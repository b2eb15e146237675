import { randomUUID } from 'node:crypto';
import { type Claim, Claims } from '../packages/at-most-once/src/claims.ts';
import { Completeness } from '../packages/at-most-once/src/completeness.ts';
import { KeyRejected } from '../packages/at-most-once/src/key-rejected.ts';
import { type Limiter, unlimited } from '../packages/at-most-once/src/limiter.ts';
import { type IdempotencyStore, StoreUnavailable } from '../packages/at-most-once/src/store.ts';
import { RETENTION_MS } from './store.ts';

const MAX_WRITES_PER_KEY = 3;

/** The claims of a gateway on top of a store, with functions for the claims of a test. */
export function claimsOn(
  store: IdempotencyStore,
  options: {
    quarantineMs?: number;
    retentionMs?: number;
    isFailing?: () => boolean;
    limiter?: Limiter;
  } = {},
) {
  const losses: unknown[] = [];
  const log = { info() {}, warn() {}, error: (details: object) => losses.push(details) };
  const completeness = new Completeness({
    store,
    retentionMs: RETENTION_MS,
    quarantineMs: 0,
    log,
    watch: { succeeded() {}, failed() {} },
    ...options,
  });
  const { isFailing = () => false, limiter = unlimited } = options;
  const rules = { maxWritesPerKey: MAX_WRITES_PER_KEY, isFailing, limiter };
  const claims = new Claims(store, completeness, rules);
  const find = async (key: string, more: More = {}): Promise<unknown> => {
    try {
      const { result: found } = await claims.claim(claimOf(key, randomUUID(), more));
      return found.state === 'recorded' ? found.outcome : found.state;
    } catch (error) {
      if (error instanceof StoreUnavailable || error instanceof KeyRejected) return error.reason;
      throw error;
    }
  };
  return {
    store,
    claims,
    /** What was logged about lost records. */
    losses,
    /** Claims a key with a new owner. Returns the state, the outcome if it is recorded, or the reason of an error. */
    find,
    claim: async (key: string, owner: string, more: More = {}) =>
      (await claims.claim(claimOf(key, owner, more))).result,
    record: (key: string, owner: string, outcome: unknown, more: More = {}) =>
      claims.record(claimOf(key, owner, more), outcome),
    release: (key: string, owner: string, more: More = {}) =>
      claims.release(claimOf(key, owner, more)),
    /**
     * Settles a key, as if 40 s had passed: nothing from before the records is on its way any more, although a busy server replies
     * late, so that its clock seems to be behind.
     */
    settle: (key: string, ageMs?: number, receivedAt = performance.now() + 40_000) =>
      claims.settle({ key, caller: 'caller', ageMs, receivedAt }),
    async close() {
      completeness.close();
      await store.close();
    },
  };
}

/** What is unusual about a claim. */
type More = Partial<Claim>;

export function claimOf(key: string, owner: string, more: More): Claim {
  return {
    key,
    owner,
    responseName: 'result',
    operation: 'upgradeToHQ',
    caller: 'caller',
    fingerprint: 'fingerprint',
    leaseMs: 60_000,
    ageMs: undefined,
    receivedAt: performance.now(),
    ...more,
  };
}
