import { ledger, ledgerFetch } from './ledger.ts';

type Result = { data?: { workflowAction?: { __typename: string } | null } | null };
const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
const headers = { 'content-type': 'application/json' };

/** The options of the write of a button. */
export const restart = {
  ...ledger,
  field: 'workflowAction' as const,
  async send(key: { 'idempotency-key': string }): Promise<Result> {
    const init = {
      method: 'POST',
      headers: { ...headers, ...key },
      body: JSON.stringify({ query }),
    };
    return (await ledgerFetch(ledger.url, init)).json();
  },
};
