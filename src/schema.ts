import { readFileSync } from 'node:fs';
import { buildSubgraphSchema } from '@apollo/subgraph';
import { GraphQLError, type GraphQLSchema, parse, type ValidationRule } from 'graphql';
import type { Context } from './context.ts';
import { resolvers } from './resolvers/index.ts';

/** The executable schema: schema.graphql as a subgraph of a federated graph, with its resolvers. */
export function createSchema(): GraphQLSchema {
  const sdl = readFileSync(new URL('../schema.graphql', import.meta.url), 'utf8');
  const schema = buildSubgraphSchema([{ typeDefs: parse(sdl), resolvers }]);
  const entities = schema.getQueryType()?.getFields()._entities;
  const resolve = entities?.resolve;
  if (!entities || !resolve) throw new Error('the schema has no entities');
  // A router sends references by the list, and each costs a promise even where all share one call.
  entities.resolve = (source, args, context: Context, info) => {
    context.admitReferences(args.representations.length);
    return resolve(source, args, context, info);
  };
  return schema;
}

/** Refuses `_service { sdl }`, which tells as much as introspection does. */
export const noServiceSdl: ValidationRule = (context) => ({
  Field(node) {
    if (node.name.value === '_service' && context.getParentType()?.name === 'Query') {
      context.reportError(new GraphQLError('Introspection is off.', { nodes: node }));
    }
  },
});
