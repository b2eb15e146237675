import type { GraphQLFieldResolver } from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';
import { invalidReference, readReference } from '../resolvers/gl-code-reference.ts';
import type { GlCodesKey } from '../resolvers/loaders.ts';
import type { Context } from './context.ts';

type Resolver = GraphQLFieldResolver<unknown, Context>;

/** The references that are resolved in one turn: a few milliseconds. */
const PORTION = 200;

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
    const keys = new Map<string, GlCodesKey>();
    let invalid = 0;
    const check = (representation: unknown) => {
      const reference = readReference(representation);
      if ('invalid' in reference) {
        invalid += 1; // A few are reported in their places.
        if (!context.limits().admitFailures(1)) throw invalidReference(reference);
      } else if (reference.key) {
        const { target, project } = reference.key;
        const key = `${target} ${project}`;
        context.limits().admitLookup(key);
        keys.set(key, { target, project });
      }
    };
    await context.limits().visit(representations, check);
    // Otherwise, all references to a list would be resolved at once when it arrives.
    await context.loaders().glCodeIndex.loadMany([...keys.values()]);
    const results: PromiseSettledResult<unknown>[] = [];
    for (let at = 0; at < representations.length; at += PORTION) {
      const portion = representations.slice(at, at + PORTION);
      await context.limits().turn();
      const resolved: unknown = resolve(source, { representations: portion }, context, info);
      results.push(...(await Promise.allSettled(Array.isArray(resolved) ? resolved : [])));
    }
    const failed = results.filter((result) => result.status === 'rejected');
    // With too many, the field fails as a whole.
    if (!context.limits().admitFailures(failed.length - invalid)) throw failed[0]?.reason;
    // graphql-js throws an Error that it finds in a list, with its path.
    const entities = results.map((result) =>
      result.status === 'fulfilled' ? result.value : result.reason,
    );
    await context.limits().admitEntities(entities, info);
    return entities;
  };
}

function isGlCode(value: unknown): boolean {
  return Object(value).__typename === 'GlCode';
}
