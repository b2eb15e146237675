import type { ResolversUnionTypes } from '../generated/resolvers.ts';
import { OutcomeUnknown } from '../upstream/errors.ts';
import type { ServiceStatus } from '../upstream/wire.ts';

type Unions = ResolversUnionTypes<Record<string, unknown>>;
type Member<Typename extends string> = Extract<Unions[keyof Unions], { __typename: Typename }>;

type Problem = Member<
  'LedgerFailed' | 'LedgerNoMoreInvoices' | 'LedgerNotPermitted' | 'LedgerUnrecognizedStatus'
>;

/** What every member that comes from a status record carries. */
type Base = Pick<ServiceStatus, 'invoiceId' | 'message'>;

/**
 * The union member for a status record: the only place that reads a status (specification, section
 * 3). A status outside 0 to 3 is told as it came; nothing is guessed from it.
 */
export function outcome<Success>(
  { status, invoiceId, message }: ServiceStatus,
  succeed: (base: Base) => Success,
): Success | Problem {
  const base = { invoiceId, message };
  switch (status) {
    case 0:
      return succeed(base);
    case 1:
      return { __typename: 'LedgerFailed', ...base };
    case 2:
      return { __typename: 'LedgerNoMoreInvoices', ...base };
    case 3:
      return { __typename: 'LedgerNotPermitted', ...base };
    default:
      return { __typename: 'LedgerUnrecognizedStatus', status, ...base };
  }
}

/** The union member for a write: what its answer says, or that nobody can know. */
export function writeOutcome<Answer, Success>(
  answer: Answer | OutcomeUnknown,
  settle: (answer: Answer) => Success,
): Success | Member<'LedgerOutcomeUnknown'> {
  if (!(answer instanceof OutcomeUnknown)) return settle(answer);
  const { code, message } = answer;
  return { __typename: 'LedgerOutcomeUnknown', code, message };
}
