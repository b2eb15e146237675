import {
  type AnyResult,
  createLedgerFetch,
  createWrite,
  type SettleOptions,
  withIntent,
} from '@ledger-gateway/client';
import { commitMutation, Environment, Network, RecordSource, Store } from 'relay-runtime';
import mutation, {
  type relayRestartMutation,
  type relayRestartMutation$data,
} from './__generated__/relayRestartMutation.graphql.ts';

export function createRestart(ledger: SettleOptions) {
  const ledgerFetch = createLedgerFetch(ledger);
  const network = Network.create(async ({ text, name }, variables, { metadata }) => {
    const body = JSON.stringify({ query: text, operationName: name, variables });
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const intent = metadata?.['idempotency-key'];
    const request = typeof intent === 'string' ? withIntent(init, intent) : init;
    return (await ledgerFetch(ledger.url, request)).json();
  });
  const environment = new Environment({ network, store: new Store(new RecordSource()) });

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    send: (metadata) =>
      new Promise<AnyResult<relayRestartMutation$data>>((resolve) => {
        commitMutation<relayRestartMutation>(environment, {
          mutation,
          variables: {},
          cacheConfig: { metadata },
          onCompleted: (data, errors) => resolve({ data, errors }),
          onError: (error) => resolve({ error }),
        });
      }),
  });
}
