/*
 * Converts arguments to records of the service, with the checks that a schema cannot express. Invalid
 * input is rejected with the path of the field before anything is sent.
 */
import { GatewayError } from '../errors.ts';
import type { ApproverInput, WorkflowCsvInput } from '../generated/resolvers.ts';
import {
  type Approver,
  type Integer,
  isWorkflowCsvOption,
  type WorkflowCsvUpload,
} from '../upstream/records.ts';

/** Converts an approver (docs/service-api.md, section 2.4). */
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
 * Converts a CSV upload (docs/service-api.md, section 2.5). `service_status` is left out if neither of
 * its fields is given.
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
 * Converts a CSV option to a query (docs/service-api.md, section 4.3, which does not name the parameter:
 * `param` is the configured name).
 */
export function toCsvOptionQuery(
  option: number | null | undefined,
  param: string | undefined,
): Record<string, string> {
  if (option == null) return {};
  if (param === undefined) {
    throw badInput(
      'input.option',
      'cannot be sent: the name of its query parameter is not configured',
    );
  }
  if (!isWorkflowCsvOption(option))
    throw badInput('input.option', 'is not an option of the service');
  return { [param]: String(option) };
}

/** Text for a query string, in which a lone surrogate would silently become another character. */
export function wellFormed(value: string, path: string): string {
  if (!value.isWellFormed()) throw badInput(path, 'is not well-formed Unicode text');
  return value;
}

function content({ csv, contentBase64 }: WorkflowCsvInput): string {
  if (csv != null && contentBase64 != null) {
    throw badInput('input', 'has both csv and contentBase64; give exactly one of them');
  }
  if (csv != null) return Buffer.from(wellFormed(csv, 'input.csv'), 'utf8').toString('base64');
  if (contentBase64 == null) {
    throw badInput('input', 'has neither csv nor contentBase64; give exactly one of them');
  }
  // Node decodes any text; only canonical base64 is the same after a round trip.
  if (Buffer.from(contentBase64, 'base64').toString('base64') !== contentBase64) {
    throw badInput('input.contentBase64', 'is not base64 (RFC 4648, section 4, with padding)');
  }
  return contentBase64;
}

function integer(id: string | null | undefined, path: string): Integer | null | undefined {
  // The syntax of an integer in JSON: no sign but minus, no leading zero.
  if (id != null && !/^(0|-?[1-9]\d*)$/.test(id)) throw badInput(path, 'is not an integer');
  return id;
}

function badInput(path: string, problem: string): GatewayError {
  return new GatewayError('BAD_USER_INPUT', `"${path}" ${problem}.`);
}
