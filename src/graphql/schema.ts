import { readFileSync } from 'node:fs';
import { buildSubgraphSchema } from '@apollo/subgraph';
import {
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  parse,
} from 'graphql';
import { clientDisconnected } from '../errors/gateway-error.ts';
import { argumentChecks, resolvers } from '../resolvers/index.ts';
import { fail, inSpan } from '../telemetry/tracing.ts';
import { codeOf } from '../upstream/upstream-error.ts';
import { argumentCheckOf } from './argument-checks.ts';
import { resolveEntities } from './entities.ts';
import type { RequestContext } from './request-context.ts';

type Resolver = GraphQLFieldResolver<unknown, RequestContext>;

/** The executable schema: schema.graphql as a subgraph of a federated graph, with its resolvers. */
export const schema = createSchema();

function createSchema(): GraphQLSchema {
  const sdl = readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8');
  const federated = {
    ...resolvers,
    Query: { ...resolvers.Query, _entities: resolveEntities },
  };
  const schema = buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers: federated }]);
  const limit = schema.getDirective('limit');
  if (!limit) throw new Error('The schema does not define @limit.');
  for (const type of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      const name = `${type}.${field.name}`;
      // The fields that federation adds check their own arguments.
      const isOwn = !field.name.startsWith('_');
      const check = argumentCheckOf(isOwn ? field.args : [], limit, argumentChecks[field.name]);
      if (field.resolve) field.resolve = observed(name, field.resolve, check);
    }
  }
  return schema;
}

type Member = { __typename?: string; code?: string };

/** Limits the result of a root field. */
async function limited(
  result: unknown,
  isWrite: boolean,
  context: RequestContext,
  info: GraphQLResolveInfo,
): Promise<unknown> {
  const member: Member = Object(result);
  if (isWrite) return context.limits().fitOutcome(member, info);
  // The result is a union member. Entities are limited one by one elsewhere.
  if (member.__typename !== undefined) await context.limits().admitResult(member, info);
  return result;
}

/** Adds a span to the resolver of a root field, checks its arguments, and limits its result, which it notes. */
function observed(field: string, resolve: Resolver, check: (args: object) => void): Resolver {
  const isWrite = field.startsWith('Mutation.');
  return (source, args, context, info) =>
    inSpan(field, {}, async (span) => {
      const note = (result: string, code?: string) => {
        context.state.fields.set(info.path.key, { field, result, code });
        span.setAttribute('ledger.outcome', result);
        if (result === 'LedgerOutcomeUnknown') fail(span, result);
      };
      try {
        // If the connection has closed, nobody could learn the outcome of a further write. A repeat with the key executes it
        // (docs/decisions/0016).
        if (isWrite && context.scope?.isClosed()) throw clientDisconnected();
        if (context.scope) check(args); // Without a token, the resolver throws `UNAUTHENTICATED`.
        const result = await resolve(source, args, context, info);
        const { __typename = 'ok', code }: Member = Object(result);
        note(__typename, code);
        return await limited(result, isWrite, context, info);
      } catch (error) {
        note(codeOf(error));
        fail(span, codeOf(error));
        throw error;
      }
    });
}
