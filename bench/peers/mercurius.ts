import fastify from 'fastify';
import mercurius from 'mercurius';
import { Pool } from 'undici';
import {
  type ActionArgs,
  createContext,
  type GlCodesArgs,
  typeDefs,
  typeOfAction,
  typeOfGlCodes,
} from './schema.ts';

/** Mercurius with its compiler, an undici pool, and a DataLoader per request. */
const baseUrl = new URL(process.env.UPSTREAM_BASE_URL ?? '');
const pool = new Pool(baseUrl.origin);

async function get<Body>(path: string, authorization: string): Promise<Body> {
  const { statusCode, body } = await pool.request({
    method: 'GET',
    path: baseUrl.pathname + path,
    headers: { authorization },
  });
  if (statusCode !== 200) {
    await body.dump();
    throw new Error(`The service responded with ${statusCode}`);
  }
  return (await body.json()) as Body;
}

const contextFor = (authorization = '') => createContext((path) => get(path, authorization));

type Context = ReturnType<typeof contextFor>;

const app = fastify();
app.register(mercurius, {
  schema: typeDefs,
  resolvers: {
    Query: {
      glCodes: (_: unknown, args: GlCodesArgs, context: unknown) =>
        (context as Context).glCodes.load(args),
    },
    Mutation: {
      workflowAction: (_: unknown, args: ActionArgs, context: unknown) =>
        (context as Context).runAction(args),
    },
    GlCodesResult: { resolveType: typeOfGlCodes },
    WorkflowActionResult: { resolveType: typeOfAction },
  },
  context: async (request) => contextFor(request.headers.authorization),
  jit: 1,
});
await app.listen({ host: process.env.HOST ?? '', port: Number(process.env.PORT) });
