import { expect } from '@jest/globals';
import { claimsOn } from '../../../../testkit/claims.ts';
import { closeAfterTest } from '../../../../testkit/cleanup.ts';
import { eventually } from '../../../../testkit/eventually.ts';
import type { IdempotencyStore } from '../../src/store.ts';

/** The claims of a gateway whose store connects to a server in the background. */
export function claimsOnServer(store: IdempotencyStore, quarantineMs: number) {
  const claims = claimsOn(store, { quarantineMs });
  closeAfterTest(claims.close);
  /** Right after a loss, keys with the age 0 are rejected. */
  const later = () => ({ ageMs: 0, receivedAt: performance.now() + 30_000 });
  const probe = (more = {}) => claims.find(crypto.randomUUID(), { ...later(), ...more });
  return {
    ...claims,
    later,
    usage: () => store.usage,
    /** Claims a new key, as a request does that arrives in half a minute. */
    probe,
    /** Waits until the claim of a new key has a result, which may be the reason why it fails. */
    becomes: (result: string) => eventually(async () => expect(await probe()).toBe(result)),
  };
}

/** Waits until the claims of a server can be used. */
export async function whenUsable(claims: ReturnType<typeof claimsOnServer>) {
  await claims.becomes('claimed');
  return claims;
}
