import type { MutationResolvers } from '../generated/resolvers.ts';
import type { ServiceStatus } from '../upstream/records.ts';
import { toApprovers } from './input.ts';
import { outcome, writeOutcome } from './outcome.ts';

export const saveApprovers: NonNullable<MutationResolvers['saveApprovers']> = async (
  _,
  { approvers },
  { service },
  { path },
) => {
  const result = await service().saveApprovers(toApprovers(approvers), String(path.key));
  return writeOutcome(result, approversSaved);
};

export function approversSaved(status: ServiceStatus) {
  return outcome(status, (fields) => ({ __typename: 'ApproversSaved', ...fields }) as const);
}
