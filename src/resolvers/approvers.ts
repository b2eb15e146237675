import type { MutationResolvers } from '../generated/resolvers.ts';
import { toApprover } from './input.ts';
import { outcome, writeOutcome } from './outcome.ts';

export const saveApprovers: NonNullable<MutationResolvers['saveApprovers']> = async (
  _,
  args,
  { upstream },
) => {
  const answer = await upstream().saveApprovers(args.approvers.map(toApprover));
  return writeOutcome(answer, (status) =>
    outcome(status, (base) => ({ __typename: 'ApproversSaved', ...base })),
  );
};
