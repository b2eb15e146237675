import type { MutationResolvers } from '../generated/resolvers.ts';
import { toApprovers } from './input.ts';
import { writeOutcome } from './outcome.ts';
import { approversSaved } from './write-member.ts';

export const saveApprovers: NonNullable<MutationResolvers['saveApprovers']> = async (
  _,
  { approvers },
  { service },
  { path },
) => {
  const result = await service().saveApprovers(toApprovers(approvers), String(path.key));
  return writeOutcome(result, approversSaved);
};
