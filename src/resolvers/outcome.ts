import type { ServiceStatus } from '../upstream/responses.ts';
import { OutcomeUnknown } from '../upstream/upstream-error.ts';

/**
 * The union member for a status record: the one for success with these fields, or a problem. Only this function interprets a
 * status (docs/reference/service-api.md, section 3). A status outside 0 to 3 is passed on unchanged.
 */
export function outcome<const Success extends object>(
  { status, invoiceId, message }: ServiceStatus,
  success: Success,
) {
  const fields = { invoiceId, message };
  switch (status) {
    case 0:
      return { ...success, ...fields };
    case 1:
      return { __typename: 'LedgerFailed' as const, ...fields };
    case 2:
      return { __typename: 'LedgerNoMoreInvoices' as const, ...fields };
    case 3:
      return { __typename: 'LedgerNotPermitted' as const, ...fields };
    default:
      return { __typename: 'LedgerUnrecognizedStatus' as const, status, ...fields };
  }
}

/** The union member for the outcome of a write: for the service's response, or for an unknown outcome. */
export function writeOutcome<Response, Success>(
  result: Response | OutcomeUnknown,
  toMember: (response: Response) => Success,
) {
  if (!(result instanceof OutcomeUnknown)) return toMember(result);
  const { code, message, requestId } = result;
  return { __typename: 'LedgerOutcomeUnknown' as const, code, message, requestId };
}
