import { readFileSync, writeFileSync } from 'node:fs';
import { ApolloServer } from '@apollo/server';
import { ApolloServerPluginInlineTraceDisabled } from '@apollo/server/plugin/disabled';
import { startStandaloneServer } from '@apollo/server/standalone';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { composeServices } from '@theguild/federation-composition';
import { parse } from 'graphql';

/*
 * Starts a second subgraph, and composes it with the gateway of `npm run dev`: `node examples/federation/start-graph.ts` writes
 * supergraph.graphql into the current folder. See docs/tutorial/federated-graph.md.
 */
const gatewayUrl = process.env.GATEWAY_URL ?? 'http://127.0.0.1:4000/graphql';
const port = Number(process.env.BUDGETS_PORT ?? 4100);

const read = (path: string) => parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
const ledger = read('../../schema.graphql');
const budgets = read('budgets.graphql');

/** Budgets store only the ids of their general-ledger codes. The gateway knows the rest. */
const resolvers = {
  Query: {
    budgets: () => [
      { id: '1', glCode: { id: '5/north-plant/4010' } },
      { id: '2', glCode: { id: '5/north-plant/4020' } },
    ],
  },
};
const schema = buildSubgraphSchema([{ typeDefs: budgets, resolvers }]);
const server = new ApolloServer({ schema, plugins: [ApolloServerPluginInlineTraceDisabled()] });
const { url } = await startStandaloneServer(server, { listen: { port } });

const { supergraphSdl, errors = [] } = composeServices([
  { name: 'ledger', typeDefs: ledger, url: gatewayUrl },
  { name: 'budgets', typeDefs: budgets, url },
]);
if (!supergraphSdl) throw new Error(errors.map(({ message }) => message).join('\n'));
writeFileSync('supergraph.graphql', supergraphSdl);
process.stdout.write(`Budgets listen at ${url}. The graph is in supergraph.graphql.\n`);
