import { setImmediate as immediate } from 'node:timers/promises';
import type { GraphQLFieldResolver } from 'graphql';
import { GatewayError } from '../errors.ts';
import type { Context } from './context.ts';
import { selectionOf } from './limits/selection-cost.ts';

type Resolver = GraphQLFieldResolver<unknown, Context>;

/** Fields of entities that are resolved in one iteration of the event loop. */
const FIELDS_AT_A_TIME = 2_500;

/**
 * Wraps the resolver of `_entities`: checks all representations before any is resolved, and resolves them
 * in portions, so that a long list does not block the event loop.
 */
export function limitEntities(resolve: Resolver): Resolver {
  return (source, args, context, info) => {
    const representations: readonly unknown[] = args.representations;
    context.loaders(); // Throws if the request has no token.
    context.limits.admitReferences(representations.length, info);
    // The library throws in the middle of the list at an unknown type.
    if (!representations.every(isGlCode)) {
      throw new GatewayError(
        'BAD_USER_INPUT',
        'A representation has a type that is not an entity of this subgraph.',
      );
    }
    for (const { target, project } of representations) {
      // Others are invalid, and are reported in their places.
      if (typeof target === 'string' && typeof project === 'string') {
        context.limits.admitLookup(`${target} ${project}`);
      }
    }
    const size = Math.ceil(FIELDS_AT_A_TIME / (selectionOf(info).fields + 1));
    let started = Promise.resolve<unknown>(undefined);
    let completed = started;
    return Array.from({ length: Math.ceil(representations.length / size) }, (_, index) => {
      const part = representations.slice(index * size, (index + 1) * size);
      // One list of promises, whose rejections have handlers from the beginning.
      const start = () =>
        Promise.allSettled<unknown>(
          toList(resolve(source, { ...args, representations: part }, context, info)),
        );
      const settled = index === 0 ? start() : started.then(start);
      const results = completed.then(async () => {
        const values = (await settled).map((result) =>
          result.status === 'fulfilled' ? result.value : toError(result.reason),
        );
        context.limits.admitEntities(values, info);
        return values;
      });
      started = started.then(() => immediate());
      completed = results.then(
        () => immediate(),
        () => immediate(),
      );
      return part.map((_, position) => results.then((values) => values[position]));
    }).flat();
  };
}

function isGlCode(value: unknown): value is { target?: unknown; project?: unknown } {
  return (
    typeof value === 'object' &&
    value !== null &&
    '__typename' in value &&
    value.__typename === 'GlCode'
  );
}

function toList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** graphql-js throws an Error that it finds in a list, with its path. */
function toError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error('An entity was rejected without an error.');
}
