import { ApolloClient, gql, HttpLink, InMemoryCache, type TypedDocumentNode } from '@apollo/client';
import { createLedgerFetch, createWrite, type SettleOptions } from '@ledger-gateway/client';
import { possibleTypes } from '@ledger-gateway/client/possible-types';
import { type RestartData, restartDocument } from './operation.ts';

const mutation: TypedDocumentNode<RestartData> = gql(restartDocument);

export function createRestart(ledger: SettleOptions) {
  const client = new ApolloClient({
    link: new HttpLink({ uri: `${ledger.url}`, fetch: createLedgerFetch(ledger) }),
    cache: new InMemoryCache({ possibleTypes }),
  });

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    send: (headers) =>
      client.mutate({
        mutation,
        errorPolicy: 'all',
        fetchPolicy: 'no-cache',
        context: { headers },
      }),
  });
}
