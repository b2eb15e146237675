import { createLedgerFetch, createWrite, type SettleOptions } from '@ledger-gateway/client';
import { type RestartData, restartDocument } from './operation.ts';

const json = { 'content-type': 'application/json' };
const body = JSON.stringify({ query: restartDocument });

export function createRestart(ledger: SettleOptions) {
  const ledgerFetch = createLedgerFetch(ledger);

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    async send(headers): Promise<{ data?: RestartData }> {
      const init = { method: 'POST', headers: { ...json, ...headers }, body };
      return (await ledgerFetch(ledger.url, init)).json();
    },
  });
}
