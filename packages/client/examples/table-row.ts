import { createWrite, type SettleOptions } from '@ledger-gateway/client';

type Member = { __typename: string; code?: string };
type Result = { data?: { saveApprovers?: Member | null } | null };
type Approver = { name: string };
const query = `mutation Save($approvers: [ApproverInput!]!) {
  saveApprovers(approvers: $approvers) {
    __typename ... on LedgerProblem { message } ... on LedgerOutcomeUnknown { code }
  }
}`;
const json = { 'content-type': 'application/json' };

/** The write of one row. `ledgerFetch` is the one of the page, from `createLedgerFetch`. */
export function createRow(ledger: SettleOptions, ledgerFetch: typeof fetch, rowId: string) {
  return createWrite({
    ...ledger,
    field: 'saveApprovers',
    name: `row-${rowId}`,
    async send(headers, approvers: Approver[]): Promise<Result> {
      const body = JSON.stringify({ query, variables: { approvers } });
      const init = { method: 'POST', headers: { ...json, ...headers }, body };
      return (await ledgerFetch(ledger.url, init)).json();
    },
  });
}
