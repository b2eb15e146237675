import type { Fault } from '@ledger-gateway/client';
import type { ApproverInput } from '../gql/graphql.ts';

export type FieldName = keyof ApproverInput;

type FieldSpec = {
  readonly label: string;
  readonly kind: 'text' | 'email' | 'integer' | 'number' | 'check';
  readonly hint?: string;
  /** Whether it is among the first fields, which are always visible. */
  readonly isCommon?: true;
};

/** The fields of an approver, in the order of the form. One that is missing here does not compile. */
export const fields: Readonly<Record<FieldName, FieldSpec>> = {
  name: { label: 'Name', kind: 'text', isCommon: true },
  email: { label: 'Email', kind: 'email', isCommon: true },
  approverId: { label: 'Approver number', kind: 'integer', hint: 'Digits only', isCommon: true },
  claimLimit: {
    label: 'Claim limit',
    kind: 'number',
    hint: 'For example 2500 or 1250.50',
    isCommon: true,
  },
  workflowId: { label: 'Workflow number', kind: 'integer', hint: 'Digits only', isCommon: true },
  workflowName: { label: 'Workflow name', kind: 'text', isCommon: true },
  description: { label: 'Description', kind: 'text' },
  emailUpload: { label: 'Email for uploads', kind: 'email' },
  myEmail: { label: 'My email', kind: 'email' },
  myBankAccount: { label: 'My bank account', kind: 'text' },
  isExpenseClaim: { label: 'For expense claims', kind: 'check' },
  isDisableApproval: { label: 'Approval is turned off', kind: 'check' },
};

export const names = Object.keys(fields) as FieldName[];

/** An approver as the user edits it. Every value is text; that of a check is `on` or empty. */
export type Draft = {
  readonly id: string;
  readonly values: Readonly<Partial<Record<FieldName, string>>>;
};

export const newDraft = (): Draft => ({ id: crypto.randomUUID(), values: {} });

/** The input for a draft. An empty field is left out, and so is not changed. */
export function toInput({ values }: Draft): ApproverInput {
  const { claimLimit, isExpenseClaim, isDisableApproval, ...texts } = values;
  return {
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text.trim() !== '')),
    ...(claimLimit?.trim() && { claimLimit: Number(claimLimit) }),
    ...(isExpenseClaim && { isExpenseClaim: true }),
    ...(isDisableApproval && { isDisableApproval: true }),
  };
}

/** What an approver was saved with, such as `Name: Ada, Claim limit: 2500`. Empty for an empty draft, as after a sign-out. */
export function summaryOf({ values }: Draft): string[] {
  const filled = names.filter((name) => values[name]?.trim());
  const texts = filled.map((name) => {
    const { label, kind } = fields[name];
    return kind === 'check' ? label : `${label}: ${values[name]?.trim()}`;
  });
  return texts.length === 0 ? [] : [texts.join(' · ')];
}

/** The faults that the form itself finds, in the shape of those of the gateway. */
export function findFaults(drafts: readonly Draft[]): Fault[] {
  return drafts.flatMap((draft, index) =>
    Object.entries(faultsOf(draft)).map(([name, message]) => ({
      path: ['approvers', index, name],
      message,
    })),
  );
}

/** What the gateway or the ledger would reject, or accept although nobody can mean it. */
const rules: Partial<Record<FieldSpec['kind'], { pattern: RegExp; fault: string }>> = {
  email: { pattern: /^[^\s@]+@[^\s@]+$/, fault: 'This is not an email address.' },
  integer: { pattern: /^-?\d+$/, fault: 'Enter digits only.' },
};

function faultsOf(draft: Draft): Partial<Record<FieldName, string>> {
  const { values } = draft;
  const faults: Partial<Record<FieldName, string>> = {};
  if (Object.keys(toInput(draft)).length === 0) faults.name = 'Enter at least one field.';
  for (const name of names) {
    const text = values[name]?.trim();
    const rule = rules[fields[name].kind];
    if (text && rule && !rule.pattern.test(text)) faults[name] = rule.fault;
  }
  const fault = faultOfNumber(values.claimLimit?.trim() ?? '');
  if (fault !== undefined) faults.claimLimit = fault;
  return faults;
}

/**
 * What is wrong with a number. Nobody guesses what a comma means, nor whether 1.250 has thousands or decimals. JavaScript changes a
 * number with more than 15 digits, so it must not be sent.
 */
function faultOfNumber(text: string): string | undefined {
  if (text === '') return undefined;
  if (!/^-?\d+(\.\d+)?$/.test(text)) {
    return 'Enter digits only, and a point before the decimals, such as 1250.50.';
  }
  if (/^-?[1-9]\d{0,2}\.\d{3}$/.test(text)) {
    return `This may mean ${text.replace('.', '')} or ${text}0. Enter the one that you mean.`;
  }
  return text.replace(/\D/g, '').length > 15 ? 'This has more than 15 digits.' : undefined;
}
