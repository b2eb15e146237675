import type { ServiceStatus } from '../upstream/responses.ts';
import { UpstreamError, type UpstreamErrorCode } from '../upstream/upstream-error.ts';

/**
 * The union member for a status record: the one for success with these fields, or a problem. Only this function interprets a
 * status (docs/reference/service-api.md, section 3). A status outside 0 to 3 is passed on unchanged.
 */
export function statusMember<const Success extends object>(
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

/** The error codes of references to a list by its status, because an entity cannot be a problem. Others are `UPSTREAM_FAILED`. */
const errorCodes: Partial<Record<string, UpstreamErrorCode>> = {
  LedgerNotPermitted: 'FORBIDDEN',
  LedgerUnrecognizedStatus: 'UPSTREAM_INVALID_RESPONSE',
};

/** Throws the error of each reference to a list if the status of the list is not OK. */
export function expectOk(status: ServiceStatus): void {
  const { __typename } = statusMember(status, { __typename: 'OK' });
  if (__typename === 'OK') return;
  throw new UpstreamError(errorCodes[__typename] ?? 'UPSTREAM_FAILED', { fault: __typename });
}
