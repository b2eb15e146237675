import { readFileSync } from 'node:fs';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { SpanStatusCode } from '@opentelemetry/api';
import {
  GraphQLError,
  type GraphQLFieldResolver,
  type GraphQLSchema,
  parse,
  type ValidationRule,
} from 'graphql';
import type { Context } from './context.ts';
import { codeOf, currentRequest, GatewayError } from './errors.ts';
import { resolvers } from './resolvers/index.ts';
import { inSpan } from './tracing.ts';

/**
 * The executable schema: schema.graphql as a subgraph of a federated graph, with its resolvers.
 * `resolved` is told of every root field and what came of it: a union member, or an error's code.
 */
export function createSchema(resolved: (field: string, outcome: string) => void): GraphQLSchema {
  const sdl = readFileSync(new URL('../schema.graphql', import.meta.url), 'utf8');
  const schema = buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers }]);
  for (const type of [schema.getQueryType(), schema.getMutationType()]) {
    for (const field of Object.values(type?.getFields() ?? {})) {
      if (field.resolve) field.resolve = observed(`${type}.${field.name}`, field.resolve, resolved);
    }
  }
  return schema;
}

type Resolve = GraphQLFieldResolver<unknown, Context>;

/** A root field's resolver, with a span and a count around it. */
function observed(
  field: string,
  resolve: Resolve,
  resolved: (field: string, outcome: string) => void,
): Resolve {
  return (source, args, context, info) =>
    inSpan(field, {}, async (span) => {
      try {
        if (field === 'Query._entities') admit(args.representations, context);
        const result = await resolve(source, args, context, info);
        settle(field, typenameOf(result), resolved);
        return result;
      } catch (error) {
        settle(field, codeOf(error), resolved);
        span?.setStatus({ code: SpanStatusCode.ERROR, message: codeOf(error) });
        throw error;
      } finally {
        span?.end();
      }
    });
}

/**
 * Looks at references before any is resolved: a router sends them by the list, each costs a promise
 * even where all share a call, and the library throws amid the list at one it does not know.
 */
function admit(representations: readonly unknown[], context: Context): void {
  context.loaders(); // Refuses who has no token.
  context.admitReferences(representations.length);
  if (!representations.every(isEntity)) {
    throw new GatewayError(
      'BAD_USER_INPUT',
      'A representation is of no type that is an entity here.',
    );
  }
}

function isEntity(representation: unknown): boolean {
  return (
    typeof representation === 'object' &&
    representation !== null &&
    '__typename' in representation &&
    representation.__typename === 'GlCode'
  );
}

function settle(
  field: string,
  outcome: string,
  resolved: (field: string, outcome: string) => void,
): void {
  resolved(field, outcome);
  if (field.startsWith('Mutation.')) currentRequest.getStore()?.writes.push(`${field} ${outcome}`);
}

function typenameOf(result: unknown): string {
  return typeof result === 'object' && result !== null && '__typename' in result
    ? String(result.__typename)
    : 'ok';
}

/** Refuses introspection, and `_service { sdl }`, which tells as much. */
export const noIntrospection: ValidationRule = (context) => ({
  Field(node) {
    if (['__schema', '__type', '_service'].includes(node.name.value)) {
      context.reportError(new GraphQLError('Introspection is off.', { nodes: node }));
    }
  },
});
