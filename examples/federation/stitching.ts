import type { ApolloServerPlugin } from '@apollo/server';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { buildHTTPExecutor } from '@graphql-tools/executor-http';
import { GraphQLError, parse } from 'graphql';
import { roundingErrorOf } from './rounded-integers.ts';

/** The context of each GraphQL operation: `context: async ({ req }) => ({ headers: req.headers })` of Apollo Server. */
export type Context = { headers: Record<string, string | string[] | undefined> };

/** A plugin of Apollo Server: rejects an operation with an integer that the server would round. */
export const rejectRoundedIntegers: ApolloServerPlugin<Context> = {
  requestDidStart: async () => ({
    async didResolveOperation({ request }) {
      const error = roundingErrorOf(request.variables);
      if (error) throw new GraphQLError(error.message, { extensions: error.extensions });
    },
  }),
};

/** The caller's token, the request id, the trace, and the client's key with its age. */
const fromClient = [
  'authorization',
  'x-request-id',
  'traceparent',
  'tracestate',
  'idempotency-key',
  'idempotency-key-age',
];

/**
 * The ledger as a subschema of `stitchSchemas`. `sdl` is the text of `schema.graphql`, and `endpoint` the address of the gateway.
 * See docs/how-to/federation.md.
 */
export function ledgerSubschema(sdl: string, endpoint: string) {
  const executor = buildHTTPExecutor({
    endpoint,
    headers(request) {
      const { headers }: Context = request?.context ?? { headers: {} };
      const forwarded = fromClient.flatMap((name): [string, string][] => {
        const value = headers[name];
        return typeof value === 'string' ? [[name, value]] : [];
      });
      // Stitching sends each root field of a mutation in a request of its own, without the alias, and all with the same key.
      const responseName = request?.info?.path.key;
      if (responseName !== undefined)
        forwarded.push(['idempotency-response-name', `${responseName}`]);
      return Object.fromEntries(forwarded);
    },
    // Longer than the gateway's deadline of 10 s. A shorter timeout would lose outcomes of writes.
    timeout: 15_000,
  });
  return {
    // Unlike `buildSchema`, it adds the field `_entities`, by which the types are merged.
    schema: buildSubgraphSchema(parse(sdl)),
    executor,
    merge: {
      GlCode: {
        selectionSet: '{ id }',
        fieldName: '_entities',
        key: ({ id }: { id: string | null }) => ({ __typename: 'GlCode', id }),
        argsFromKeys: (representations: readonly object[]) => ({ representations }),
      },
    },
  };
}
