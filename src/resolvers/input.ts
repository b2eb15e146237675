import { GatewayError } from '../errors.ts';
import type { ApproverInput, WorkflowCsvInput } from '../generated/resolvers.ts';
import {
  type Approver,
  type Integer,
  isWorkflowCsvOption,
  type WorkflowCsvUpload,
} from '../upstream/wire.ts';

/**
 * Arguments into records of the wire, with the checks that a schema cannot express. Bad input is
 * refused by the path of the field, before anything is sent.
 */

/** An approver of the schema as one of the wire (specification, section 2.4). */
export function toApprover(input: ApproverInput, index: number): Approver {
  const path = `approvers[${index}]`;
  return {
    approver_id: integer(input.approverId, `${path}.approverId`),
    claim_limit: input.claimLimit,
    description: input.description,
    email: input.email,
    email_upload: input.emailUpload,
    is_disable_approval: input.isDisableApproval,
    is_expense_claim: input.isExpenseClaim,
    my_bank_account: input.myBankAccount,
    my_email: input.myEmail,
    name: input.name,
    workflow_id: integer(input.workflowId, `${path}.workflowId`),
    workflow_name: input.workflowName,
  };
}

/**
 * A CSV upload of the schema as one of the wire (specification, section 2.5). `service_status` is
 * left out where neither of its fields is given.
 */
export function toWorkflowCsvUpload(input: WorkflowCsvInput): WorkflowCsvUpload {
  const upload = { PictureName: input.fileName, PictureStream: content(input) };
  if (input.invoiceId === undefined && input.message === undefined) return upload;
  return {
    ...upload,
    service_status: {
      invoice_id: integer(input.invoiceId, 'input.invoiceId'),
      message: input.message,
    },
  };
}

/**
 * A CSV option as a query (specification, section 4.3, which gives the parameter no name: `param` is
 * the configured one).
 */
export function toCsvOptionQuery(
  option: number | null | undefined,
  param: string | undefined,
): Record<string, string> {
  if (option == null) return {};
  if (param === undefined) {
    throw bad('input.option', 'cannot be sent: this gateway has no UPSTREAM_CSV_OPTION_PARAM');
  }
  if (!isWorkflowCsvOption(option)) throw bad('input.option', 'is no option of the service');
  return { [param]: String(option) };
}

/** Text that goes into a query, where a lone surrogate would silently become another character. */
export function wellFormed(value: string, path: string): string {
  if (!value.isWellFormed()) throw bad(path, 'is no well-formed Unicode text');
  return value;
}

function content({ csv, contentBase64 }: WorkflowCsvInput): string {
  if (csv != null && contentBase64 != null) {
    throw bad('input', 'has both csv and contentBase64; give exactly one of them');
  }
  if (csv != null) return Buffer.from(wellFormed(csv, 'input.csv'), 'utf8').toString('base64');
  if (contentBase64 == null) {
    throw bad('input', 'has neither csv nor contentBase64; give exactly one of them');
  }
  // Node decodes whatever it is given; only canonical base64 comes back as it was.
  if (Buffer.from(contentBase64, 'base64').toString('base64') !== contentBase64) {
    throw bad('input.contentBase64', 'is no base64 (RFC 4648, section 4, with padding)');
  }
  return contentBase64;
}

function integer(id: string | null | undefined, path: string): Integer | null | undefined {
  // JSON's own spelling of an integer: no sign but minus, no leading zero.
  if (id != null && !/^(0|-?[1-9]\d*)$/.test(id)) throw bad(path, 'is no integer');
  return id;
}

function bad(path: string, problem: string): GatewayError {
  return new GatewayError('BAD_USER_INPUT', `"${path}" ${problem}.`);
}
