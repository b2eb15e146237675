import type { MutationResolvers, ResolversTypes } from '../generated/resolvers.ts';

type SettledWrites = Awaited<ResolversTypes['SettledWrites']>;

export const settleWrites: NonNullable<MutationResolvers['settleWrites']> = async (
  _,
  { idempotencyKey, ageMs },
  { settle },
) => {
  const settled = await settle(idempotencyKey, ageMs);
  return settled as SettledWrites; // A test compares the members of all writes with those of this union.
};
