import { createLedgerFetch, createWrite, type SettleOptions } from '@ledger-gateway/client';
import { Client, fetchExchange, gql, type TypedDocumentNode } from '@urql/core';
import { type RestartData, restartDocument } from './operation.ts';

const mutation: TypedDocumentNode<RestartData> = gql(restartDocument);

export function createRestart(ledger: SettleOptions) {
  const client = new Client({
    url: `${ledger.url}`,
    fetch: createLedgerFetch(ledger),
    preferGetMethod: false,
    exchanges: [fetchExchange],
  });

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    send: (headers) => client.mutation(mutation, {}, { fetchOptions: { headers } }).toPromise(),
  });
}
