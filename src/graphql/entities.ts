import type { GraphQLFieldResolver } from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';
import { invalidReference, type Reference } from '../resolvers/entity.ts';
import { entities } from '../resolvers/index.ts';
import type { Context } from './context.ts';

/**
 * Resolves the references of other subgraphs to the entities of `resolvers/index.ts`; null if the service does not list one.
 * Checks all before any is resolved. The library's resolver of `_entities` would resolve them all in one turn.
 */
export const resolveEntities: GraphQLFieldResolver<unknown, Context> = async (
  _,
  args,
  context,
  info,
) => {
  const representations: readonly unknown[] = args.representations;
  const loaders = context.loaders(); // Throws if the request has no token.
  const limits = context.limits();
  limits.admitReferences(representations.length, info);
  const references: (Reference | null | GatewayError)[] = [];
  const lists = new Map<string, Reference>();
  await limits.visit(representations, (representation) => {
    const reference = readReference(representation);
    references.push(reference);
    if (reference instanceof GatewayError) limits.admitFailure(reference);
    else if (reference) {
      limits.admitLookup(reference.list);
      lists.set(reference.list, reference);
    }
  });
  const loading = [...lists].map(async ([list, reference]) => {
    const index = await reference.readIndex(loaders).catch((error: Error) => error);
    return [list, index] as const;
  });
  const indexes = new Map(await Promise.all(loading));
  // graphql-js throws an Error that it finds in a list, with its path.
  const find = (reference: Reference | null | GatewayError) => {
    if (reference === null || reference instanceof GatewayError) return reference;
    const index = indexes.get(reference.list);
    if (!(index instanceof Error))
      return reference.key === null ? undefined : index?.get(reference.key);
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

function readReference(representation: unknown): Reference | null | GatewayError {
  const fields: Record<string, unknown> = Object(representation);
  const name = String(fields.__typename);
  const read = Object.hasOwn(entities, name) ? entities[name] : undefined;
  // Without the name, which is a text of the client.
  const unknown = () =>
    invalidReference('an entity', ['__typename'], 'is not an entity of this subgraph');
  return read ? read(fields) : unknown();
}
