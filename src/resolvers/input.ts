/*
 * Converts arguments to records of the service, with the checks that a schema cannot express. One error
 * reports all faults, each with its path, before anything is sent.
 */

import { formatPath, InputFaults, type Path } from '../errors/input-fault.ts';
import type {
  ApproverInput,
  QueryGlCodesArgs,
  WorkflowAction,
  WorkflowCsvInput,
} from '../generated/resolvers.ts';
import { type Approver, isWorkflowCsvOption, type WorkflowCsvUpload } from '../upstream/records.ts';

/** The digits of an identifier. */
const MAX_DIGITS = 1000;

/** The codes of the argument `only`. */
const MAX_ONLY = 1000;

/** The longest texts, in UTF-16 code units (docs/limits.md). */
export const textLimits = {
  project: 1024,
  code: 256,
  search: 100,
  fileName: 255,
  message: 10_000,
  /** A name, description, address or account. */
  line: 1000,
} as const;

/** Converts approvers (docs/service-api.md, section 2.4). Throws `BAD_USER_INPUT`. */
export function toApprovers(inputs: readonly ApproverInput[]): Approver[] {
  const check = new Checks();
  inputs.forEach((input, index) => {
    for (const field of ['approverId', 'workflowId'] as const) {
      check.integer(input[field], 'approvers', index, field);
    }
    for (const field of approverTexts) {
      check.length(input[field], textLimits.line, 'approvers', index, field);
    }
  });
  check.throwIfAny();
  return inputs.map(toApprover);
}

const approverTexts = [
  'description',
  'email',
  'emailUpload',
  'myBankAccount',
  'myEmail',
  'name',
  'workflowName',
] as const;

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

/**
 * Converts a CSV upload (docs/service-api.md, sections 2.5 and 4.3) to a body and a query. `service_status`
 * is left out if neither of its fields is given. Section 4.3 does not name the query parameter of the
 * option: `optionParam` is the configured name. Throws `BAD_USER_INPUT`.
 */
export function toWorkflowCsvUpload(
  input: WorkflowCsvInput,
  optionParam: string | undefined,
): { upload: WorkflowCsvUpload; query: Record<string, string> } {
  const check = new Checks();
  check.length(input.fileName, textLimits.fileName, 'input', 'fileName');
  checkContent(input, check);
  check.integer(input.invoiceId, 'input', 'invoiceId');
  check.length(input.message, textLimits.message, 'input', 'message');
  const query = toOptionQuery(input.option, optionParam, check);
  check.throwIfAny();
  const { fileName, csv, contentBase64, invoiceId, message } = input;
  const upload = {
    PictureName: fileName,
    PictureStream: contentBase64 ?? Buffer.from(csv ?? '', 'utf8').toString('base64'),
  };
  return invoiceId === undefined && message === undefined
    ? { upload, query }
    : { upload: { ...upload, service_status: { invoice_id: invoiceId, message } }, query };
}

function checkContent({ csv, contentBase64 }: WorkflowCsvInput, check: Checks): void {
  if ((csv == null) === (contentBase64 == null)) {
    const given = csv == null ? 'neither csv nor' : 'both csv and';
    check.fault(`has ${given} contentBase64; give exactly one of them`, 'input');
  }
  check.wellFormed(csv, 'input', 'csv');
  // Node decodes any text; only canonical base64 is the same after a round trip.
  if (contentBase64 && Buffer.from(contentBase64, 'base64').toString('base64') !== contentBase64) {
    const problem = 'is not base64 (RFC 4648, section 4, with padding)';
    check.fault(problem, 'input', 'contentBase64');
  }
}

function toOptionQuery(
  option: number | null | undefined,
  param: string | undefined,
  check: Checks,
): Record<string, string> {
  if (option == null) return {};
  if (param !== undefined && isWorkflowCsvOption(option)) return { [param]: String(option) };
  const problem =
    param === undefined
      ? 'cannot be sent: the name of its query parameter is not configured'
      : 'is not an option of the service';
  check.fault(problem, 'input', 'option');
  return {};
}

/** Checks the arguments of `glCodes`. Throws `BAD_USER_INPUT`. */
export function checkGlCodesArgs(args: QueryGlCodesArgs): void {
  const check = new Checks();
  check.length(args.project, textLimits.project, 'project');
  check.wellFormed(args.project, 'project');
  const only = args.only ?? [];
  if (only.length > MAX_ONLY) check.fault(`has more than ${MAX_ONLY} codes`, 'only');
  for (const [index, code] of only.slice(0, MAX_ONLY).entries()) {
    check.length(code, textLimits.code, 'only', index);
  }
  check.length(args.search, textLimits.search, 'search');
  check.wellFormed(args.search, 'search');
  for (const name of ['skip', 'first'] as const) {
    if ((args[name] ?? 0) < 0) check.fault('is negative', name);
  }
  check.throwIfAny();
}

/** Checks that a workflow action is one of those that the configuration allows. Throws `BAD_USER_INPUT`. */
export function checkAction(action: WorkflowAction, allowed: readonly WorkflowAction[]): void {
  const check = new Checks();
  if (!allowed.includes(action)) check.fault('is not allowed by the configuration', 'action');
  check.throwIfAny();
}

/** Checks of values, with the path of each. A missing value or null passes. */
class Checks extends InputFaults {
  /** The syntax of an integer in JSON: no sign but minus, no leading zero. */
  integer(id: string | null | undefined, ...path: Path): void {
    if (id == null) return;
    if (!/^(0|-?[1-9]\d*)$/.test(id)) this.fault('is not an integer', ...path);
    else if (id.replace('-', '').length > MAX_DIGITS) {
      this.fault(`has more than ${MAX_DIGITS} digits`, ...path);
    }
  }

  length(text: string | null | undefined, limit: number, ...path: Path): void {
    if (text != null && text.length > limit) {
      this.fault(`has more than ${limit} characters`, ...path);
    }
  }

  /** A lone surrogate would silently become another character. */
  wellFormed(text: string | null | undefined, ...path: Path): void {
    if (text?.isWellFormed() === false) this.fault('is not well-formed Unicode text', ...path);
  }

  fault(problem: string, ...path: Path): void {
    const [argument = '', ...rest] = path;
    this.add(path, `"${argument}${formatPath(rest)}" ${problem}.`);
  }
}
