import type { ApproverInput, MutationResolvers } from '../generated/resolvers.ts';
import type { Approver } from '../upstream/declarations.ts';
import type { ServiceStatus } from '../upstream/responses.ts';
import { outcome, writeOutcome } from './outcome.ts';

export const saveApprovers: NonNullable<MutationResolvers['saveApprovers']> = async (
  _,
  { approvers },
  { service },
  { path },
) => {
  const body = approvers.map(toApprover);
  const result = await service().write('saveApproverList', String(path.key), { body });
  return writeOutcome(result, approversSaved);
};

/** Converts an approver (docs/reference/service-api.md, section 2.4). */
function toApprover(input: ApproverInput): Approver {
  return {
    approver_id: input.approverId,
    claim_limit: input.claimLimit,
    description: input.description,
    email: input.email,
    email_upload: input.emailUpload,
    is_disable_approval: input.isDisableApproval,
    is_expense_claim: input.isExpenseClaim,
    my_bank_account: input.myBankAccount,
    my_email: input.myEmail,
    name: input.name,
    workflow_id: input.workflowId,
    workflow_name: input.workflowName,
  };
}

export function approversSaved(status: ServiceStatus) {
  return outcome(status, { __typename: 'ApproversSaved' });
}
