import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { type Context, ledgerDataSource } from '../examples/federation/apollo-gateway.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { testGatewayRestart } from './gateway-restart.ts';
import { testIdempotencyKeys } from './idempotency-keys.ts';
import { testSupergraph } from './supergraph.ts';

/** Starts `@apollo/gateway` with the options that the docs give to platform teams. */
async function start(supergraphSdl: string): Promise<string> {
  const gateway = new ApolloGateway({
    supergraphSdl,
    // The other subgraphs of the tests expect the token too.
    buildService: ({ url = '' }) =>
      new RemoteGraphQLDataSource<Context>({ url, ...ledgerDataSource }),
  });
  const server = new ApolloServer<Context>({ gateway, stopOnTerminationSignals: false });
  closeAfterTest(() => server.stop());
  const { url } = await startStandaloneServer(server, {
    listen: { port: 0, host: '127.0.0.1' },
    context: async ({ req, res }) => ({ req, res }),
  });
  return url;
}

testSupergraph(start);
testIdempotencyKeys(start);
testGatewayRestart(start);
