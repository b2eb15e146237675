import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled';
import { startStandaloneServer } from '@apollo/server/standalone';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { stitchSchemas } from '@graphql-tools/stitch';
import { expect, test } from '@jest/globals';
import { parse } from 'graphql';
import {
  type Context,
  ledgerSubschema,
  rejectRoundedIntegers,
} from '../examples/federation/stitching.ts';
import { ledgerSdl } from '../test/federation/composition.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { send, startStack } from './stack.ts';
import { saveApproverThrough } from './supergraph.ts';

/** A schema of another team, which stores the ids of GL codes. */
const budgets = buildSubgraphSchema([
  {
    typeDefs: parse(
      'type Query { budgets: [Budget!] } type Budget { glCode: GlCode } type GlCode { id: ID }',
    ),
    resolvers: {
      Query: {
        budgets: () =>
          ['4020', '9999'].map((code) => ({ glCode: { id: `5/north-plant/${code}` } })),
      },
    },
  },
]);

/** Starts a server that stitches the ledger with another schema, as the docs show it. Returns its address. */
async function startServer(gatewayUrl: string): Promise<string> {
  const ledger = ledgerSubschema(ledgerSdl, gatewayUrl);
  const schema = stitchSchemas({ subschemas: [ledger, { schema: budgets }] });
  const server = new ApolloServer<Context>({
    schema,
    stopOnTerminationSignals: false,
    plugins: [ApolloServerPluginInlineTraceDisabled(), rejectRoundedIntegers],
  });
  closeAfterTest(() => server.stop());
  const { url } = await startStandaloneServer(server, {
    listen: { port: 0, host: '127.0.0.1' },
    context: async ({ req: { headers } }) => ({ headers }),
  });
  return url;
}

async function start() {
  const stack = await startStack();
  const url = await startServer(stack.gatewayUrl);
  const token = await stack.token();
  return {
    calls: stack.calls,
    send: (query: string, headers: Record<string, string> = {}, claims = token) =>
      send(url, claims, query, {}, headers),
    token: stack.token,
  };
}

test('two equal fields of a mutation with a key are both sent, and a repeat sends nothing', async () => {
  const { calls, send } = await start();
  const fields = `a: workflowAction(action: RESTART) { __typename }
    b: workflowAction(action: RESTART) { __typename }`;
  const headers = { 'idempotency-key': 'intent-1', 'idempotency-key-age': '0' };

  const first = await send(`mutation { ${fields} }`, headers);
  expect(first.errors).toBeUndefined();
  expect(calls).toHaveLength(2);
  expect(await send(`mutation { ${fields} }`, headers)).toEqual(first);
  expect(calls).toHaveLength(2);

  const { data } = await send(
    'mutation { settleWrites(idempotencyKey: "intent-1") { keyArrived writes { responseName } } }',
    headers,
  );
  const writes = [{ responseName: 'a' }, { responseName: 'b' }];
  expect(data).toEqual({ settleWrites: { keyArrived: true, writes } });
});

test('the codes of another schema are found by their ids, with one request to the service', async () => {
  const { calls, send } = await start();
  const { data, errors } = await send('{ budgets { glCode { id name } } }');
  expect(errors).toBeUndefined();
  expect(data).toEqual({
    budgets: [
      { glCode: { id: '5/north-plant/4020', name: 'Packaging' } },
      { glCode: { id: '5/north-plant/9999', name: 'Suspense account' } },
    ],
  });
  expect(calls).toHaveLength(1);
});

test('an error keeps its code and request id', async () => {
  const { send, token } = await start();
  const query = 'mutation { save: workflowAction(action: RESTART) { __typename } }';
  const { data, errors } = await send(query, {}, await token({ scenario: 'http-403' }));
  expect(data).toEqual({ save: null });
  expect(errors).toMatchObject([
    { path: ['save'], extensions: { code: 'FORBIDDEN', requestId: expect.any(String) } },
  ]);
});

test('an identifier that the server has rounded as a number is rejected, and as a text it arrives exactly', async () => {
  const id = '9007199254740993';
  const { errors, sent } = await saveApproverThrough(startServer, JSON.rawJSON(id));
  const message = expect.stringContaining('Send an ID as a text');
  expect(errors).toMatchObject([{ message, extensions: { code: 'BAD_USER_INPUT' } }]);
  expect(sent).toEqual([]);
  expect((await saveApproverThrough(startServer, id)).sent).toEqual([`[{"approver_id":${id}}]`]);
});
