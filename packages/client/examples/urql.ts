import {
  createLedgerFetch,
  type LedgerFetchOptions,
  newIntent,
  readField,
} from '@ledger-gateway/client';
import { Client, fetchExchange, gql, type TypedDocumentNode } from '@urql/core';
import { type RestartData, restartDocument } from './operation.ts';

const mutation: TypedDocumentNode<RestartData> = gql(restartDocument);

export function createRestart(url: string, options: LedgerFetchOptions) {
  const client = new Client({
    url,
    fetch: createLedgerFetch(options),
    preferGetMethod: false,
    exchanges: [fetchExchange],
  });

  return async function restart(intent = newIntent()) {
    const fetchOptions = { headers: { 'idempotency-key': intent } };
    const result = await client.mutation(mutation, {}, { fetchOptions }).toPromise();
    return readField(result, 'workflowAction', intent);
  };
}
