import type { ApproverInput, MutationResolvers } from '../generated/resolvers.ts';
import { type Approver, operations } from '../upstream/declarations.ts';

export const saveApprovers: NonNullable<MutationResolvers['saveApprovers']> = (
  _,
  { approvers },
  { write },
  info,
) => {
  const request = operations.saveApproverList.encode({}, approvers.map(toApprover));
  return write(request, info);
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
