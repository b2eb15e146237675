import { isPromise } from 'node:util/types';
import { buildSubgraphSchema, type GraphQLResolverMap } from '@apollo/subgraph';
import {
  type GraphQLFieldResolver,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  parse,
} from 'graphql';
import { clientDisconnected, missingToken, toPublicError } from '../errors/gateway-error.ts';
import { fail, inSpan } from '../telemetry/tracing.ts';
import { shownInvoice } from '../upstream/responses.ts';
import { type ArgumentCheck, argumentCheckOf } from './argument-checks.ts';
import { createEntityResolver, type Entities } from './entities.ts';
import type { RequestContext } from './request-context.ts';

type Resolver = GraphQLFieldResolver<unknown, RequestContext>;

/** What a schema is made of. */
export type SchemaParts = {
  /** The schema of the subgraph in the schema definition language. */
  readonly typeDefs: string;
  readonly resolvers: GraphQLResolverMap<RequestContext>;
  /** Checks that the types of arguments cannot express, by root field (argument-checks.ts). */
  readonly argumentChecks: Readonly<Record<string, ArgumentCheck>>;
  readonly entities: Entities;
};

/** Creates the executable schema of a subgraph of a federated graph. */
export function createSchema(parts: SchemaParts): GraphQLSchema {
  const { typeDefs, resolvers, argumentChecks, entities } = parts;
  const schema = buildSubgraphSchema([{ typeDefs: parse(typeDefs), resolvers }]);
  const limit = schema.getDirective('limit');
  if (!limit) throw new Error('The schema does not define @limit.');
  for (const type of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      // The fields that federation adds check their own arguments.
      const isOwn = !field.name.startsWith('_');
      const check = isOwn && argumentCheckOf(field.args, limit, argumentChecks[field.name]);
      if (field.name === '_entities') field.resolve = createEntityResolver(entities);
      const name = `${type}.${field.name}`;
      if (field.resolve) field.resolve = observed(name, field.resolve, check || undefined);
    }
  }
  return schema;
}

type Member = { __typename?: string; code?: string; invoiceId?: string | null };

/** The result of a root field within the limits, or a promise of it. A request without a token, which gets no list, has no limits. */
function limited(
  result: object,
  isWrite: boolean,
  { limits }: RequestContext,
  info: GraphQLResolveInfo,
): unknown {
  if (isWrite) return limits?.fitOutcome(result, info);
  return limits?.admitResult(result, info)?.then(() => result) ?? result;
}

/** Adds a span to a root field, checks of token and arguments, and limits of its result. Without `check`, it needs no token. */
function observed(
  field: string,
  resolve: Resolver,
  check?: ReturnType<typeof argumentCheckOf>,
): Resolver {
  const isWrite = field.startsWith('Mutation.');
  return (source, args, context, info) =>
    inSpan(field, {}, async (span) => {
      const note = (result: string, { code, invoiceId }: Member = {}) => {
        const noted = { field, result, code, invoiceId: shownInvoice(invoiceId) };
        context.state.fields.set(info.path.key, noted);
        span.setAttribute('ledger.outcome', result);
        if (result === 'LedgerOutcomeUnknown') fail(span, result);
      };
      try {
        // If the connection has closed, nobody could learn the outcome of a further write. A repeat with the key executes it
        // (docs/decisions/0016).
        if (isWrite && context.scope?.isClosed()) throw clientDisconnected();
        if (check && !context.scope) throw missingToken();
        check?.(args, context);
        const result = await resolve(source, args, context, info);
        const member: Member = Object(result);
        note(member.__typename ?? 'ok', member);
        const limiting = limited(Object(result), isWrite, context, info);
        return isPromise(limiting) ? await limiting : limiting;
      } catch (error) {
        const { code } = toPublicError(error);
        note(code);
        fail(span, code);
        throw error;
      }
    });
}
