import {
  createLedgerFetch,
  type LedgerFetchOptions,
  newIntent,
  readField,
} from '@ledger-gateway/client';
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

export function createRestart(url: string, options: LedgerFetchOptions) {
  const fetch = createLedgerFetch(options);
  const client = new Client({ url, fetch, preferGetMethod: false, exchanges: [fetchExchange] });

  return async function restart(intent = newIntent()) {
    const fetchOptions = { headers: { 'idempotency-key': intent } };
    const variables = { action: 'RESTART' } as const;
    const result = await client.mutation(mutation, variables, { fetchOptions }).toPromise();
    return readField(result, 'workflowAction', intent);
  };
}
