import type { GraphQLFieldResolver } from 'graphql';
import type { z } from 'zod';
import { GatewayError, missingToken } from '../errors/gateway-error.ts';
import type { Loaders } from './loaders.ts';
import type { RequestContext } from './request-context.ts';

/** The items of a list by their keys. Each has its `__typename`, which is the type of the entity. */
export type Index = ReadonlyMap<string, { readonly __typename: string }>;

/** A reference of another subgraph to an entity, which is an item of a list. */
export type Reference = {
  /** The name of the list. References to the same list count once, and the list is read once. */
  readonly list: string;
  /** The key of the entity in the list. With null, no entity is found. */
  readonly key: string | null;
  readIndex(loaders: Loaders): Promise<Index>;
};

/** Reads the reference in a representation. If it returns null, the entity is null. If it returns an error, that is reported. */
export type ReadReference = (
  representation: Readonly<Record<string, unknown>>,
) => Reference | null | GatewayError;

/** The types with `@key`, and the function that reads a reference of another subgraph to each. */
export type Entities = Readonly<Record<string, ReadReference>>;

/**
 * Creates the resolver of references of other subgraphs to these entities. A reference that the service does not list is null.
 * All references are checked before one is resolved. The resolver of `@apollo/subgraph` would resolve all of them without
 * yielding to the event loop.
 */
export const createEntityResolver =
  (entities: Entities): GraphQLFieldResolver<unknown, RequestContext> =>
  async (_, args, context, info) => {
    const representations: readonly unknown[] = args.representations;
    const { limits } = context;
    if (!limits) throw missingToken();
    const loaders = context.loaders();
    limits.admitReferences(representations.length, info);
    const lists = new Map<string, Reference>();
    const references = representations.map((representation) => {
      const reference = readReference(representation, entities);
      if (reference instanceof GatewayError) limits.admitFailure(reference);
      else if (reference) lists.set(reference.list, reference);
      return reference;
    });
    limits.admitLists(lists.keys());
    const indexes = new Map<string, Index | Error>();
    const load = async ({ list, readIndex }: Reference) =>
      indexes.set(list, await readIndex(loaders).catch((error: Error) => error));
    await Promise.all(lists.values().map(load));
    // If a list contains an Error, graphql-js reports it with the path of the item.
    return references.map((reference) => {
      if (reference === null || reference instanceof GatewayError) return reference;
      const index = indexes.get(reference.list);
      if (!(index instanceof Error)) {
        return reference.key === null ? null : index?.get(reference.key);
      }
      limits.admitFailure(index);
      return index;
    });
  };

function readReference(
  representation: unknown,
  entities: Entities,
): Reference | null | GatewayError {
  const fields: Record<string, unknown> = Object(representation);
  const name = String(fields.__typename);
  const read = Object.hasOwn(entities, name) ? entities[name] : undefined;
  // The message does not repeat the name, which is a text of the client.
  const unknown = () =>
    invalidReference('an entity', ['__typename'], 'is not an entity of this subgraph');
  return read ? read(fields) : unknown();
}

/** The error for a reference whose fields at `path` have a problem. */
export function invalidReference(typename: string, fields: string[], problem: string) {
  const message = `A reference to ${typename} has invalid fields: ${fields.join(', ')}.`;
  const faults = fields.map((field) => ({ path: [field], message: `"${field}" ${problem}.` }));
  return new GatewayError('BAD_USER_INPUT', message, { faults });
}

/** The error for a reference whose fields do not match the schema of its key. */
export function invalidKey(typename: string, { issues }: z.ZodError) {
  const fields = new Set(issues.map(({ path }) => path.join('.')));
  return invalidReference(typename, [...fields], 'is invalid');
}
