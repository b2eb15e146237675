import DataLoader from 'dataloader';
import fastify from 'fastify';
import mercurius from 'mercurius';
import { Pool } from 'undici';
import {
  type ActionArgs,
  actionPath,
  codesPath,
  type GlCodeInfoSS,
  type GlCodesArgs,
  type ServiceStatus,
  toAction,
  toGlCodes,
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

function createContext(authorization: string) {
  return {
    glCodes: new DataLoader(
      (queries: readonly GlCodesArgs[]) =>
        Promise.all(
          queries.map(async (query) =>
            toGlCodes(await get<GlCodeInfoSS>(codesPath(query), authorization), query),
          ),
        ),
      { cacheKeyFn: codesPath },
    ),
    runAction: async (args: ActionArgs) =>
      toAction(await get<ServiceStatus>(actionPath(args), authorization), args),
  };
}

type Context = ReturnType<typeof createContext>;

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
  context: async (request) => createContext(request.headers.authorization ?? ''),
  jit: 1,
});
await app.listen({ host: process.env.HOST ?? '', port: Number(process.env.PORT) });
