import { randomUUID } from 'node:crypto';
import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { type GraphQLResolveInfo, parse, validate } from 'graphql';
import { compileQuery, isCompiledQuery } from 'graphql-jit';
import { createSchema } from 'graphql-yoga';
import { LRUCache } from 'lru-cache';
import { createFields, type Fields } from './checked.ts';
import { authenticate, log, logRequest, metricsText } from './duties.ts';
import { type ActionArgs, type GlCodesArgs, typeDefs } from './schema.ts';

/** Plain `node:http` with graphql-jit and an undici pool, and with the duties of ledger-gateway. */
const typeOf = ({ __typename }: { __typename: string }) => __typename;
const schema = createSchema<Fields>({
  typeDefs,
  resolvers: {
    Query: {
      glCodes: (_: unknown, args: GlCodesArgs, fields: Fields, { path }: GraphQLResolveInfo) =>
        fields.glCodes(args, path.key),
    },
    Mutation: {
      workflowAction: (
        _: unknown,
        args: ActionArgs,
        fields: Fields,
        { path }: GraphQLResolveInfo,
      ) => fields.workflowAction(args, path.key),
    },
    GlCodesResult: { __resolveType: typeOf },
    WorkflowActionResult: { __resolveType: typeOf },
    LedgerStatus: { __resolveType: typeOf },
    LedgerProblem: { __resolveType: typeOf },
  },
});

const queries = new LRUCache<string, ReturnType<typeof compile>>({
  max: 1000,
  memoMethod: (text) => compile(text),
});

function compile(text: string) {
  const document = parse(text);
  const [error] = validate(schema, document);
  if (error) throw error;
  const compiled = compileQuery(schema, document, '', { disableLeafSerialization: true });
  if (!isCompiledQuery(compiled)) throw new Error('The document cannot be compiled.');
  return compiled.query;
}

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.url === '/metrics') {
    response.end(await metricsText());
    return;
  }
  const start = performance.now();
  const { token, caller } = await authenticate(request.headers.authorization);
  const disconnect = new AbortController();
  const { signal } = disconnect;
  const scope = { requestId: randomUUID(), token, caller, signal, fields: new Map() };
  response.once('close', () => {
    if (!response.writableFinished) disconnect.abort();
    logRequest(scope, start, request.method ?? '', response.statusCode);
  });
  const { query = '', variables } = (await json(request)) as { query?: string; variables?: object };
  const result = await queries.memo(query)(undefined, createFields(scope), variables ?? {});
  const text = JSON.stringify(result);
  response.writeHead(200, {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
  });
  response.end(text);
}

http
  .createServer((request, response) => {
    respond(request, response).catch((error: unknown) => {
      log.error(error);
      response.writeHead(500).end();
    });
  })
  .listen(Number(process.env.PORT), process.env.HOST);
