/*
 * Converts arguments to records of the service, with the checks that a schema cannot express. One error
 * reports all faults, each with its path, before anything is sent.
 */

import { core, z } from 'zod';
import { InputFaults, type Path } from '../errors/input-fault.ts';
import type { ApproverInput, WorkflowCsvInput } from '../generated/resolvers.ts';
import {
  type Approver,
  isWorkflowCsvOption,
  type WorkflowCsvUpload,
} from '../upstream/declarations.ts';

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

/** A text of at most so many UTF-16 code units: `max` of zod counts one for a character with two. */
export const textOf = (limit: number) =>
  z.string().refine(({ length }) => length <= limit, `has more than ${limit} characters`);
const line = textOf(textLimits.line).nullish();

/** A lone surrogate would silently become another character. */
const wellFormed = <Text extends z.ZodString>(text: Text) =>
  text.refine((value) => value.isWellFormed(), 'is not well-formed Unicode text');

/** The same, and well-formed. */
export const exactText = (limit: number) => wellFormed(textOf(limit));

/**
 * The syntax of an integer in JSON: no sign but minus, no leading zero.
 * @public For the next operation (CONTRIBUTING.md).
 */
export const identifier = z
  .string()
  .regex(/^(0|-?[1-9]\d*)$/, 'is not an integer')
  .refine((id) => !/^-?\d{1001,}$/.test(id), 'has more than 1000 digits')
  .nullish();

const approver = z.object({
  approverId: identifier,
  workflowId: identifier,
  description: line,
  email: line,
  emailUpload: line,
  myBankAccount: line,
  myEmail: line,
  name: line,
  workflowName: line,
});

/** Node decodes any text as base64; only the canonical form is the same after a round trip. */
const isBase64 = (text: string) => Buffer.from(text, 'base64').toString('base64') === text;

const csvUploadArgs = z
  .object({
    input: z
      .object({
        fileName: textOf(textLimits.fileName),
        csv: wellFormed(z.string()).nullish(),
        contentBase64: z
          .string()
          .refine(isBase64, 'is not base64 (RFC 4648, section 4, with padding)')
          .nullish(),
        invoiceId: identifier,
        message: textOf(textLimits.message).nullish(),
        option: z.number().refine(isWorkflowCsvOption, 'is not an option of the service').nullish(),
      })
      .refine(
        ({ csv, contentBase64 }) => (csv ?? contentBase64) != null,
        'must have csv or contentBase64',
      )
      .refine(
        ({ csv, contentBase64 }) => csv == null || contentBase64 == null,
        'must not have both csv and contentBase64',
      ),
    optionParam: z.string().optional(),
  })
  .refine(({ input, optionParam }) => input.option == null || optionParam !== undefined, {
    path: ['input', 'option'],
    error: 'cannot be sent: the name of its query parameter is not configured',
  });

/** Converts approvers (docs/service-api.md, section 2.4). Throws `BAD_USER_INPUT`. */
export function toApprovers(inputs: readonly ApproverInput[]): Approver[] {
  const faults = new InputFaults();
  for (const [index, input] of inputs.entries()) {
    addFaults(faults, approver, input, 'approvers', index);
  }
  faults.throwIfAny();
  return inputs.map(toApprover);
}

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
 * Converts a CSV upload (docs/service-api.md, sections 2.5 and 4.3) to a body and parameters. `service_status`
 * is left out if neither of its fields is given. Section 4.3 does not name the query parameter of the
 * option: `optionParam` is the configured name. Throws `BAD_USER_INPUT`.
 */
export function toWorkflowCsvUpload(
  input: WorkflowCsvInput,
  optionParam: string | undefined,
): { body: WorkflowCsvUpload; parameters: Record<string, number> } {
  check(csvUploadArgs, { input, optionParam });
  const { fileName, csv, contentBase64, invoiceId, message, option } = input;
  const hasStatus = invoiceId !== undefined || message !== undefined;
  const body = {
    PictureName: fileName,
    PictureStream: contentBase64 ?? Buffer.from(csv ?? '', 'utf8').toString('base64'),
    ...(hasStatus && { service_status: { invoice_id: invoiceId, message } }),
  };
  const hasOption = option != null && optionParam !== undefined;
  return { body, parameters: hasOption ? { [optionParam]: option } : {} };
}

/** Checks arguments by their schema. Throws `BAD_USER_INPUT` with all faults. */
export function check(schema: z.ZodType, args: object): void {
  const faults = new InputFaults();
  addFaults(faults, schema, args);
  faults.throwIfAny();
}

/** Adds all faults of a value at a path. */
function addFaults(faults: InputFaults, schema: z.ZodType, value: unknown, ...at: Path): void {
  for (const { path, message } of schema.safeParse(value).error?.issues ?? []) {
    const full = [...at, ...path];
    faults.add(full, `"${core.toDotPath(full)}" ${message}.`);
  }
}
