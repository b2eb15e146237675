import { RESTDataSource } from '@apollo/datasource-rest';
import { ApolloServer } from '@apollo/server';
import { startStandaloneServer } from '@apollo/server/standalone';
import type { KeyValueCache } from '@apollo/utils.keyvaluecache';
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

/** The baseline: Apollo Server with a RESTDataSource per request that forwards the Authorization header. */
class LedgerAPI extends RESTDataSource {
  override baseURL = process.env.UPSTREAM_BASE_URL ?? '';
  readonly authorization: string;

  constructor(authorization: string, cache: KeyValueCache) {
    super({ cache });
    this.authorization = authorization;
  }

  override willSendRequest(_path: string, request: { headers: Record<string, string> }) {
    request.headers.authorization = this.authorization;
  }

  async glCodes(args: GlCodesArgs) {
    return toGlCodes(await this.get<GlCodeInfoSS>(codesPath(args)), args);
  }

  async workflowAction(args: ActionArgs) {
    return toAction(await this.get<ServiceStatus>(actionPath(args)), args);
  }
}

type Context = { dataSources: { ledger: LedgerAPI } };

const server = new ApolloServer<Context>({
  typeDefs,
  resolvers: {
    Query: {
      glCodes: (_: unknown, args: GlCodesArgs, { dataSources }: Context) =>
        dataSources.ledger.glCodes(args),
    },
    Mutation: {
      workflowAction: (_: unknown, args: ActionArgs, { dataSources }: Context) =>
        dataSources.ledger.workflowAction(args),
    },
    GlCodesResult: { __resolveType: typeOfGlCodes },
    WorkflowActionResult: { __resolveType: typeOfAction },
    LedgerStatus: { __resolveType: typeOfGlCodes },
    LedgerProblem: { __resolveType: typeOfGlCodes },
  },
});

await startStandaloneServer(server, {
  listen: { host: process.env.HOST, port: Number(process.env.PORT) },
  context: async ({ req }) => ({
    dataSources: { ledger: new LedgerAPI(req.headers.authorization ?? '', server.cache) },
  }),
});
