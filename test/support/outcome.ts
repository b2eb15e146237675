/** A problem type, with the fields in which it differs from others. */
type Problem = { __typename: string; status?: number | null };

/** The problem for a status of the service, as its JSON text. */
export const problemOfStatus: [status: string, problem: Problem][] = [
  ['1', { __typename: 'LedgerFailed' }],
  ['2', { __typename: 'LedgerNoMoreInvoices' }],
  ['3', { __typename: 'LedgerNotPermitted' }],
  ['7', { __typename: 'LedgerUnrecognizedStatus', status: 7 }],
  ['-1', { __typename: 'LedgerUnrecognizedStatus', status: -1 }],
  ['2147483648', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ['"0"', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ['1.5', { __typename: 'LedgerUnrecognizedStatus', status: null }],
  ['null', { __typename: 'LedgerUnrecognizedStatus', status: null }],
];
