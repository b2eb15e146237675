import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { closeAfterTest } from '../test/support/cleanup.ts';
import { testSupergraph } from './supergraph.ts';

type Context = { authorization?: string | undefined };

/** Forwards the Authorization header of the client to the subgraphs. */
class ForwardingDataSource extends RemoteGraphQLDataSource<Context> {
  override willSendRequest({
    request,
    context,
  }: Parameters<NonNullable<RemoteGraphQLDataSource<Context>['willSendRequest']>>[0]): void {
    if (context.authorization) request.http?.headers.set('authorization', context.authorization);
  }
}

testSupergraph(async (supergraphSdl) => {
  const gateway = new ApolloGateway({
    supergraphSdl,
    buildService: ({ url }) => new ForwardingDataSource(url === undefined ? {} : { url }),
  });
  const server = new ApolloServer<Context>({ gateway, stopOnTerminationSignals: false });
  closeAfterTest(() => server.stop());
  const { url } = await startStandaloneServer(server, {
    listen: { port: 0, host: '127.0.0.1' },
    context: async ({ req }) => ({ authorization: req.headers.authorization }),
  });
  return url;
});
