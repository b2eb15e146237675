import type { GraphQLFieldResolver } from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';
import { type GlCodeKey, readReference } from '../resolvers/gl-code-reference.ts';
import { glCodesKey } from '../resolvers/loaders.ts';
import type { Context } from './context.ts';

/**
 * Resolves the references of other subgraphs to codes, hidden or not; null if the service does not list one. Checks all
 * before any is resolved. The library's resolver of `_entities` would resolve them all in one turn.
 */
export const entities: GraphQLFieldResolver<unknown, Context> = async (_, args, context, info) => {
  const representations: readonly unknown[] = args.representations;
  const loaders = context.loaders(); // Throws if the request has no token.
  const limits = context.limits();
  limits.admitReferences(representations.length, info);
  const references: (GlCodeKey | null | GatewayError)[] = [];
  const lists = new Map<string, GlCodeKey>();
  await limits.visit(representations, (representation) => {
    const reference = readReference(representation);
    references.push(reference);
    if (reference instanceof GatewayError) limits.admitFailure(reference);
    else if (reference) {
      limits.admitLookup(glCodesKey(reference));
      lists.set(glCodesKey(reference), reference);
    }
  });
  const loaded = await loaders.glCodeIndex.loadMany([...lists.values()]);
  const indexes = new Map([...lists.keys()].map((key, at) => [key, loaded[at]]));
  // graphql-js throws an Error that it finds in a list, with its path.
  const find = (reference: GlCodeKey | null | GatewayError) => {
    if (reference === null || reference instanceof GatewayError) return reference;
    const index = indexes.get(glCodesKey(reference));
    if (!(index instanceof Error)) return index?.get(reference.code);
    limits.admitFailure(index);
    return index;
  };
  const found: unknown[] = [];
  await limits.visit(references, (reference) => {
    found.push(find(reference));
  });
  await limits.admitEntities(found, info);
  return found;
};
