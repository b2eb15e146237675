import { createLedgerFetch, createWrite, type SettleOptions } from '@ledger-gateway/client';
import { type RestartData, restartDocument } from './operation.ts';

export function createRestart(ledger: SettleOptions) {
  const ledgerFetch = createLedgerFetch(ledger);

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    async send(intent): Promise<{ data?: RestartData }> {
      const headers = { 'content-type': 'application/json', ...intent };
      const body = JSON.stringify({ query: restartDocument });
      return (await ledgerFetch(ledger.url, { method: 'POST', headers, body })).json();
    },
  });
}
