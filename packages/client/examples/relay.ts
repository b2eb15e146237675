import {
  type AnyResult,
  createLedgerFetch,
  type FieldResult,
  type LedgerFetchOptions,
  newIntent,
  readField,
  withIntent,
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
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const intent = metadata?.intent;
    const request = typeof intent === 'string' ? withIntent(init, intent) : init;
    return (await ledgerFetch(url, request)).json();
  });
  const environment = new Environment({ network, store: new Store(new RecordSource()) });

  return function restart(intent = newIntent()): Promise<Result> {
    const read = (result: AnyResult<relayRestartMutation$data>) =>
      readField(result, 'workflowAction', intent);
    return new Promise((resolve) => {
      commitMutation<relayRestartMutation>(environment, {
        mutation: restartMutation,
        variables: {},
        cacheConfig: { metadata: { intent } },
        onCompleted: (data, errors) => resolve(read({ data, errors })),
        onError: (error) => resolve(read({ error })),
      });
    });
  };
}
