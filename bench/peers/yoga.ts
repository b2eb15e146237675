import { createServer } from 'node:http';
import { createSchema, createYoga, type YogaInitialContext } from 'graphql-yoga';
import {
  type ActionArgs,
  createContext,
  type GlCodesArgs,
  typeDefs,
  typeOfAction,
  typeOfGlCodes,
} from './schema.ts';

/** GraphQL Yoga on node:http, with Node's fetch and a DataLoader per request. */
const baseUrl = process.env.UPSTREAM_BASE_URL;

async function get<Body>(path: string, authorization: string): Promise<Body> {
  const response = await fetch(baseUrl + path, { headers: { authorization } });
  if (!response.ok) throw new Error(`The service responded with ${response.status}`);
  return (await response.json()) as Body;
}

const contextFor = (authorization = '') => createContext((path) => get(path, authorization));

type Context = YogaInitialContext & ReturnType<typeof contextFor>;

const yoga = createYoga({
  schema: createSchema<Context>({
    typeDefs,
    resolvers: {
      Query: {
        glCodes: (_: unknown, args: GlCodesArgs, { glCodes }: Context) => glCodes.load(args),
      },
      Mutation: {
        workflowAction: (_: unknown, args: ActionArgs, { runAction }: Context) => runAction(args),
      },
      GlCodesResult: { __resolveType: typeOfGlCodes },
      WorkflowActionResult: { __resolveType: typeOfAction },
    },
  }),
  context: ({ request }) => contextFor(request.headers.get('authorization') ?? undefined),
  graphiql: false,
  logging: false,
});
createServer(yoga).listen(Number(process.env.PORT), process.env.HOST);
