import type { MutationResolvers } from '../generated/resolvers.ts';
import type { KnownOutcome } from '../idempotency/recorded-outcome.ts';
import { writeOutcome } from './outcome.ts';
import { actionCompleted, approversSaved, csvUploaded } from './write-member.ts';

export const settleWrites: NonNullable<MutationResolvers['settleWrites']> = async (
  _,
  { idempotencyKey, ageMs },
  { settle },
) => {
  const { writes, isComplete } = await settle(idempotencyKey, ageMs);
  return {
    writes: writes.map(({ responseName, outcome }) => {
      return { responseName, outcome: writeOutcome(outcome, memberOf) };
    }),
    isComplete,
  };
};

function memberOf(known: KnownOutcome) {
  switch (known.operation) {
    case 'saveApproverList':
      return approversSaved(known.response);
    case 'updateWorkflowCSV':
      return csvUploaded(known.response);
    default:
      return actionCompleted(known.operation, known.response);
  }
}
