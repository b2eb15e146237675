import { ApolloClient, gql, HttpLink, InMemoryCache, type TypedDocumentNode } from '@apollo/client';
import {
  createLedgerFetch,
  type LedgerFetchOptions,
  newIntent,
  readField,
} from '@ledger-gateway/client';
import { type RestartData, restartDocument } from './operation.ts';

const mutation: TypedDocumentNode<RestartData> = gql(restartDocument);

export function createRestart(uri: string, options: LedgerFetchOptions) {
  const client = new ApolloClient({
    link: new HttpLink({ uri, fetch: createLedgerFetch(options) }),
    cache: new InMemoryCache(),
  });

  return async function restart(intent = newIntent()) {
    const result = await client.mutate({
      mutation,
      errorPolicy: 'all',
      fetchPolicy: 'no-cache',
      context: { headers: { 'idempotency-key': intent } },
    });
    return readField(result, 'workflowAction', intent);
  };
}
