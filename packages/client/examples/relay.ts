import {
  createLedgerFetch,
  type FieldResult,
  type LedgerFetchOptions,
  newIntent,
  readField,
} from '@ledger-gateway/client';
import { commitMutation, Environment, Network, RecordSource, Store } from 'relay-runtime';
import restartMutation, {
  type relayRestartMutation,
  type relayRestartMutation$data,
} from './__generated__/relayRestartMutation.graphql.ts';

type Result = FieldResult<NonNullable<relayRestartMutation$data['workflowAction']>>;

export function createRestart(url: string, options: LedgerFetchOptions) {
  const ledgerFetch = createLedgerFetch(options);
  const network = Network.create(async ({ text, name }, variables, { metadata }) => {
    const body = JSON.stringify({ query: text, operationName: name, variables });
    const headers = { 'content-type': 'application/json', ...metadata?.headers };
    return (await ledgerFetch(url, { method: 'POST', headers, body })).json();
  });
  const environment = new Environment({ network, store: new Store(new RecordSource()) });

  return function restart(intent = newIntent()): Promise<Result> {
    return new Promise((resolve) => {
      commitMutation<relayRestartMutation>(environment, {
        mutation: restartMutation,
        variables: {},
        cacheConfig: { metadata: { headers: { 'idempotency-key': intent } } },
        onCompleted: (data, errors) => resolve(readField({ data, errors }, 'workflowAction')),
        onError: (error) =>
          resolve(
            readField<relayRestartMutation$data, 'workflowAction'>({ error }, 'workflowAction'),
          ),
      });
    });
  };
}
