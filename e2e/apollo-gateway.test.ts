import { ApolloGateway, RemoteGraphQLDataSource } from '@apollo/gateway';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import { expect, test } from '@jest/globals';
import { type Context, ledgerDataSource } from '../examples/federation/apollo-gateway.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { testEarlierSupergraph } from './earlier-supergraph.ts';
import { testGatewayRestart } from './gateway-restart.ts';
import { testIdempotencyKeys, testReplayHeader } from './idempotency-keys.ts';
import { testLostKeys } from './lost-keys.ts';
import { saveApprover, testSupergraph } from './supergraph.ts';

/** Starts `@apollo/gateway` with the options that the docs give to platform teams. */
const start = (supergraphSdl: string) =>
  startGateway(
    supergraphSdl,
    // The other subgraphs of the tests expect the token too.
    ({ url = '' }) => new RemoteGraphQLDataSource<Context>({ url, ...ledgerDataSource }),
  );

/** Starts it as the documentation of Apollo shows it: it forwards the token, and nothing else. */
const startWithTokenOnly = (supergraphSdl: string) =>
  startGateway(
    supergraphSdl,
    ({ url = '' }) =>
      new RemoteGraphQLDataSource<Context>({
        url,
        willSendRequest({ request, context }) {
          const { authorization } = Object(context.req?.headers);
          if (authorization) request.http?.headers.set('authorization', authorization);
        },
      }),
  );

async function startGateway(
  supergraphSdl: string,
  buildService: (service: { url?: string }) => RemoteGraphQLDataSource<Context>,
): Promise<string> {
  const gateway = new ApolloGateway({ supergraphSdl, buildService });
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
testReplayHeader(start);
testLostKeys(start, startWithTokenOnly);
testGatewayRestart(start);
testEarlierSupergraph(start);

test('a large identifier as a number, which Apollo Gateway rounds, is rejected', async () => {
  const { errors, sent } = await saveApprover(start, JSON.rawJSON('9007199254740993'));
  const message = expect.stringContaining('must be a text');
  const faults = [{ path: ['approvers', 0, 'approverId'], message }];
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', faults } }]);
  expect(sent).toEqual([]);
});
