import type { MutationResolvers } from '../generated/resolvers.ts';
import type { ServiceStatus } from '../upstream/responses.ts';
import { toApprovers } from './input.ts';
import { outcome, writeOutcome } from './outcome.ts';

export const saveApprovers: NonNullable<MutationResolvers['saveApprovers']> = async (
  _,
  { approvers },
  { service },
  { path },
) => {
  const client = service(); // Throws first if the token is missing.
  const result = await client.write('saveApproverList', String(path.key), {
    body: toApprovers(approvers),
  });
  return writeOutcome(result, approversSaved);
};

export function approversSaved(status: ServiceStatus) {
  return outcome(status, { __typename: 'ApproversSaved' });
}
