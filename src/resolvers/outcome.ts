import type { ResolversUnionTypes } from '../generated/resolvers.ts';
import type { ServiceStatus } from '../upstream/records.ts';
import { OutcomeUnknown } from '../upstream/upstream-error.ts';

type Unions = ResolversUnionTypes<Record<string, unknown>>;
type Member<Typename extends string> = Extract<Unions[keyof Unions], { __typename: Typename }>;

type Problem = Member<
  'LedgerFailed' | 'LedgerNoMoreInvoices' | 'LedgerNotPermitted' | 'LedgerUnrecognizedStatus'
>;

/** The fields of every member that comes from a status record. */
type StatusFields = Pick<ServiceStatus, 'invoiceId' | 'message'>;

/**
 * The union member for a status record. This is the only code that reads a status (docs/service-api.md,
 * section 3). A status outside 0 to 3 is passed on as it is.
 */
export function outcome<Success>(
  { status, invoiceId, message }: ServiceStatus,
  toSuccess: (fields: StatusFields) => Success,
): Success | Problem {
  const fields = { invoiceId, message };
  switch (status) {
    case 0:
      return toSuccess(fields);
    case 1:
      return { __typename: 'LedgerFailed', ...fields };
    case 2:
      return { __typename: 'LedgerNoMoreInvoices', ...fields };
    case 3:
      return { __typename: 'LedgerNotPermitted', ...fields };
    default:
      return { __typename: 'LedgerUnrecognizedStatus', status, ...fields };
  }
}

/** The union member for a write: for its response, or that its outcome is unknown. */
export function writeOutcome<Response, Success>(
  result: Response | OutcomeUnknown,
  toMember: (response: Response) => Success,
): Success | Member<'LedgerOutcomeUnknown'> {
  if (!(result instanceof OutcomeUnknown)) return toMember(result);
  const { code, message, requestId } = result;
  return { __typename: 'LedgerOutcomeUnknown', code, message, requestId };
}
