import { createLedgerFetch, createWrite, type SettleOptions } from '@ledger-gateway/client';
import { cache, createClient, dedup, fetch } from 'villus';
import { type RestartData, restartDocument } from './operation.ts';

export function createRestart(ledger: SettleOptions) {
  const client = createClient({
    url: `${ledger.url}`,
    use: [cache(), dedup(), fetch({ fetch: createLedgerFetch(ledger) })],
  });

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    send: (headers) =>
      client.executeMutation<RestartData, never>({ query: restartDocument }, { headers }),
  });
}
