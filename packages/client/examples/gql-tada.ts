import { createLedgerFetch, createWrite, type SettleOptions } from '@ledger-gateway/client';
import { Client, fetchExchange } from '@urql/core';
import { initGraphQLTada } from 'gql.tada';
import type { introspection } from './graphql-env.d.ts';

const graphql = initGraphQLTada<{ introspection: introspection }>();

const mutation = graphql(`
  mutation Restart($action: WorkflowAction!) {
    workflowAction(action: $action) {
      __typename
      ... on LedgerProblem { message }
      ... on LedgerOutcomeUnknown { code requestId }
    }
  }
`);

export function createRestart(ledger: SettleOptions) {
  const [url, fetch] = [`${ledger.url}`, createLedgerFetch(ledger)];
  const client = new Client({ url, fetch, preferGetMethod: false, exchanges: [fetchExchange] });
  const variables = { action: 'RESTART' } as const;

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    send: (headers) =>
      client.mutation(mutation, variables, { fetchOptions: { headers } }).toPromise(),
  });
}
