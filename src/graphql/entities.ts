import { setImmediate as immediate } from 'node:timers/promises';
import type { GraphQLFieldResolver } from 'graphql';
import { GatewayError } from '../errors/gateway-error.ts';
import type { Context } from './context.ts';
import { selectionOf } from './limits/selection-cost.ts';

type Resolver = GraphQLFieldResolver<unknown, Context>;

/** Fields of entities that are resolved in one iteration of the event loop. */
const FIELDS_AT_A_TIME = 2_500;

/**
 * Wraps the resolver of `_entities`: checks all representations before any is resolved, and resolves them
 * in portions.
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
    return inPortions(
      representations,
      size,
      async (portion) => {
        const entities = resolve(source, { ...args, representations: portion }, context, info);
        // One list of promises, whose rejections have handlers from the beginning.
        const results = await Promise.allSettled<unknown>(toList(entities));
        return results.map((result) =>
          result.status === 'fulfilled' ? result.value : toError(result.reason),
        );
      },
      (entities) => context.limits.admitEntities(entities, info),
    );
  };
}

/**
 * Resolves a list in portions, and returns a promise for each item. Only one portion starts, and only one
 * completes, in each iteration of the event loop. `admit` throws if the values of a portion exceed a limit.
 */
function inPortions<Item>(
  items: readonly Item[],
  size: number,
  resolve: (portion: readonly Item[]) => Promise<unknown[]>,
  admit: (values: readonly unknown[]) => void,
): Promise<unknown>[] {
  let started = Promise.resolve<unknown>(undefined);
  let completed = started;
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) => {
    const portion = items.slice(index * size, (index + 1) * size);
    const resolved = index === 0 ? resolve(portion) : started.then(() => resolve(portion));
    const values = completed.then(async () => {
      const admitted = await resolved;
      admit(admitted);
      return admitted;
    });
    started = started.then(() => immediate());
    completed = values.then(
      () => immediate(),
      () => immediate(),
    );
    return portion.map((_, position) => values.then((all) => all[position]));
  }).flat();
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
