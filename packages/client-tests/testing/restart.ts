import { createWrite } from '@ledger-gateway/client';
import { ledger, ledgerFetch } from './ledger.ts';

type Result = { data?: { workflowAction?: { __typename: string } | null } | null };
const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
const headers = { 'content-type': 'application/json' };

/** The write of an app that keeps it in a module. */
export const restart = createWrite({
  ...ledger,
  field: 'workflowAction',
  async send(key): Promise<Result> {
    const init = {
      method: 'POST',
      headers: { ...headers, ...key },
      body: JSON.stringify({ query }),
    };
    return (await ledgerFetch(ledger.url, init)).json();
  },
});
