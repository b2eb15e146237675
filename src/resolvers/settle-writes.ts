import type { MutationResolvers, ResolversUnionTypes } from '../generated/resolvers.ts';
import type { KnownOutcome } from '../idempotency/recorded-outcome.ts';
import { writeOutcome } from './outcome.ts';

type Member = ResolversUnionTypes<Record<string, unknown>>['WriteOutcome'];

/** `memberOf` makes the union member of a response, the same as when the write was executed. */
export function settleWith(
  memberOf: (known: KnownOutcome) => Member,
): NonNullable<MutationResolvers['settleWrites']> {
  return async (_, { idempotencyKey, ageMs }, { settle }) => {
    const { writes, isComplete } = await settle(idempotencyKey, ageMs);
    return {
      writes: writes.map(({ responseName, outcome }) => {
        return { responseName, outcome: writeOutcome(outcome, memberOf) };
      }),
      isComplete,
    };
  };
}
