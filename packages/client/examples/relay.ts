import {
  type AnyResult,
  createLedgerFetch,
  createWrite,
  type SettleOptions,
  withIntent,
} from '@ledger-gateway/client';
import {
  commitMutation,
  Environment,
  type GraphQLTaggedNode,
  type MutationParameters,
  Network,
  RecordSource,
  Store,
} from 'relay-runtime';
import mutation, {
  type relayRestartMutation,
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

  /** For all writes. */
  const commit = <Mutation extends MutationParameters>(
    mutation: GraphQLTaggedNode,
    variables: Mutation['variables'],
    headers: { 'idempotency-key': string },
  ) =>
    new Promise<AnyResult<Mutation['response']>>((resolve) => {
      commitMutation<Mutation>(environment, {
        mutation,
        variables,
        cacheConfig: { metadata: headers },
        onCompleted: (data, errors) => resolve({ data, errors }),
        onError: (error) => resolve({ error }),
      });
    });

  return createWrite({
    ...ledger,
    field: 'workflowAction',
    send: (headers) => commit<relayRestartMutation>(mutation, {}, headers),
  });
}
