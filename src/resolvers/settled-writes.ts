import type { MutationResolvers, ResolversTypes } from '../generated/resolvers.ts';
import { OutcomeUnknown } from '../upstream/upstream-error.ts';
import { unknownMember } from './status-member.ts';

type Member = Awaited<ResolversTypes['WriteOutcome']>;

export const settleWrites: NonNullable<MutationResolvers['settleWrites']> = async (
  _,
  { idempotencyKey, ageMs },
  { settle },
) => {
  const { writes, ...settled } = await settle(idempotencyKey, ageMs);
  const members = writes.map(({ responseName, outcome }) => {
    if (outcome instanceof OutcomeUnknown) return { responseName, outcome: unknownMember(outcome) };
    const member = outcome.operation.member(outcome.response);
    return { responseName, outcome: member as Member }; // A test compares the members with those of this union.
  });
  return { ...settled, writes: members };
};
