import {
  createLedgerFetch,
  type LedgerFetchOptions,
  newIntent,
  readField,
} from '@ledger-gateway/client';
import { type RestartData, restartDocument } from './operation.ts';

export function createRestart(url: string, options: LedgerFetchOptions) {
  const ledgerFetch = createLedgerFetch(options);

  return async function restart(intent = newIntent()) {
    const response = await ledgerFetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': intent },
      body: JSON.stringify({ query: restartDocument }),
    });
    return readField<RestartData, 'workflowAction'>(
      await response.json(),
      'workflowAction',
      intent,
    );
  };
}
