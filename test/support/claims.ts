import { type Claim, Claims } from '../../src/idempotency/claims.ts';
import { Completeness } from '../../src/idempotency/completeness.ts';
import type { IdempotencyStore } from '../../src/idempotency/store.ts';

export const RETENTION_MS = 3_600_000;

/** The claims of a gateway on top of a store, with functions for the claims of a test. */
export function claimsOn(store: IdempotencyStore, options: { quarantineMs?: number } = {}) {
  const losses: unknown[] = [];
  const log = { warn() {}, error: (details: object) => losses.push(details) };
  const completeness = new Completeness({
    store,
    retentionMs: RETENTION_MS,
    quarantineMs: 0,
    report() {},
    log,
    ...options,
  });
  const claims = new Claims(store, completeness);
  return {
    /** What was logged about lost records. */
    losses,
    claim: (key: string, owner: string, more: Partial<Claim> = {}) =>
      claims.claim(claimOf(key, owner, more)),
    record: (key: string, owner: string, outcome: string) =>
      claims.record(claimOf(key, owner), null, outcome),
    release: (key: string, owner: string) => claims.release(claimOf(key, owner), null),
    settle: (key: string, ageMs?: number) => claims.settle({ key, caller: 'caller', ageMs }),
    async close() {
      completeness.close();
      await store.close();
    },
  };
}

function claimOf(key: string, owner: string, more: Partial<Claim> = {}): Claim {
  return {
    key,
    owner,
    responseName: 'result',
    caller: 'caller',
    fingerprint: 'fingerprint',
    leaseMs: 60_000,
    ageMs: undefined,
    ...more,
  };
}
