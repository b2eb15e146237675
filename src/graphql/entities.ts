import type { GraphQLFieldResolver } from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';
import { readReference } from '../resolvers/gl-code-reference.ts';
import type { Context } from './context.ts';

type Resolver = GraphQLFieldResolver<unknown, Context>;

/** The references that are resolved in one turn. */
const PORTION = 200;
/** Invalid references that are reported in their places: each costs as much time as a small request. */
const MAX_INVALID = 100;

/** Wraps the resolver of `_entities`: checks all representations before any is resolved, and limits the response. */
export function limitEntities(resolve: Resolver): Resolver {
  return async (source, args, context, info) => {
    const representations: readonly unknown[] = args.representations;
    context.loaders(); // Throws if the request has no token.
    context.limits().admitReferences(representations.length, info);
    // The library throws in the middle of the list at an unknown type.
    if (!representations.every(isGlCode)) {
      throw new GatewayError(
        'BAD_USER_INPUT',
        'A representation has a type that is not an entity of this subgraph.',
      );
    }
    for (const representation of representations) {
      const reference = readReference(representation);
      // Others are invalid, and are reported in their places.
      if ('key' in reference && reference.key) {
        const { target, project } = reference.key;
        context.limits().admitLookup(`${target} ${project}`);
      }
    }
    const results: Promise<PromiseSettledResult<unknown>[]>[] = [];
    for (let at = 0; at < representations.length; at += PORTION) {
      const portion = representations.slice(at, at + PORTION);
      await context.limits().admitResolution(portion.length);
      const resolved: unknown = resolve(source, { representations: portion }, context, info);
      results.push(Promise.allSettled(Array.isArray(resolved) ? resolved : []));
    }
    // graphql-js throws an Error that it finds in a list, with its path.
    const entities = (await Promise.all(results))
      .flat()
      .map((result) => (result.status === 'fulfilled' ? result.value : result.reason));
    throwIfMostlyInvalid(entities);
    await context.limits().admitEntities(entities, info);
    return entities;
  };
}

function isGlCode(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    '__typename' in value &&
    value.__typename === 'GlCode'
  );
}

/** With more invalid references, the field is rejected as a whole. */
function throwIfMostlyInvalid(entities: unknown[]): void {
  const invalid = entities.filter(
    (entity) => entity instanceof GatewayError && entity.code === 'BAD_USER_INPUT',
  );
  if (invalid.length > MAX_INVALID) {
    throw new GatewayError('BAD_USER_INPUT', `More than ${MAX_INVALID} references are invalid.`);
  }
}
