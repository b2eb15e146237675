import { createLedgerFetch, createWrite, type SettleOptions } from '@ledger-gateway/client';
import { GraphQLClient } from 'graphql-request';
import { type RestartData, restartDocument } from './operation.ts';

export function createRestart(ledger: SettleOptions) {
  const client = new GraphQLClient(`${ledger.url}`, { fetch: createLedgerFetch(ledger) });

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    send: async (headers) => ({
      data: await client.request<RestartData>(restartDocument, {}, headers),
    }),
  });
}
