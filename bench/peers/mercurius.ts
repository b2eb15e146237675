import mercurius from 'mercurius';
import Type from 'typebox';
import { Compile } from 'typebox/schema';
import { createConnections } from './connections.ts';
import { app, type Context, createFields, resolvers, startRequest } from './dressed.ts';
import { typeDefs } from './schema.ts';

declare module 'mercurius' {
  interface MercuriusContext extends Context {}
}

/** Mercurius with its compiler and undici, with the duties of ledger-gateway, and with checked records. */
const code = Type.Object({
  ...{ Code: Type.String(), Name: Type.String(), Value: Type.String(), Hide: Type.Integer() },
});
const status = Type.Object({
  ...{ invoice_id: Type.Number(), message: Type.String(), status: Type.Integer() },
});
const statusOf = Compile(status);
const listOf = Compile(
  Type.Object({ service_status: status, list: Type.Union([Type.Array(code), Type.Null()]) }),
);
const readers = {
  list: (body: unknown) => listOf.Parse(body),
  status: (body: unknown) => statusOf.Parse(body),
};

const send = createConnections(new URL(process.env.UPSTREAM_BASE_URL ?? ''));

const resolveType = ({ __typename }: { __typename: string }) => __typename;
app.register(mercurius, {
  schema: typeDefs,
  resolvers: {
    ...resolvers,
    GlCodesResult: { resolveType },
    WorkflowActionResult: { resolveType },
  },
  context: async (request, reply) => ({
    fields: createFields(await startRequest(request, reply), send, readers),
  }),
  jit: 1,
});
await app.listen({ host: process.env.HOST ?? '', port: Number(process.env.PORT) });
