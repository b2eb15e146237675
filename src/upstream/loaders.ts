import DataLoader from 'dataloader';
import type { Upstream } from './client.ts';
import type { GlCodeInfoList, GlCodesQuery } from './wire.ts';

export type Loaders = {
  /** GL codes: equal queries of one request are one call to the service. */
  glCodes: DataLoader<GlCodesQuery, GlCodeInfoList, string>;
};

/**
 * The loaders of one request. They live and die with it, and only reads have one: a write is never
 * shared, however often the same one is asked for.
 */
export function createLoaders(upstream: () => Upstream): Loaders {
  return {
    glCodes: new DataLoader(
      (queries) =>
        Promise.all(
          queries.map((query) =>
            upstream()
              .glCodes(query)
              .catch((error: Error) => error),
          ),
        ),
      { cacheKeyFn: ({ target, project, includeHide }) => `${target} ${includeHide} ${project}` },
    ),
  };
}
