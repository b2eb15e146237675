import DataLoader from 'dataloader';
import type { Upstream } from './client.ts';
import type { GlCodeInfo, GlCodeInfoList, GlCodesQuery } from './wire.ts';

export type Loaders = {
  /** GL codes: equal queries of one request are one call to the service. */
  glCodes: DataLoader<GlCodesQuery, GlCodeInfoList, string>;
  /** The codes of a target and project, hidden ones too, by code; indexed once. */
  glCodeIndex: DataLoader<Omit<GlCodesQuery, 'includeHide'>, GlCodeIndex, string>;
};

export type GlCodeIndex = { list: GlCodeInfoList; byCode: Map<string, GlCodeInfo> };

/**
 * The loaders of one request. They live and die with it, and only reads have one: a write is never
 * shared, however often the same one is asked for.
 */
export function createLoaders(upstream: Upstream): Loaders {
  const glCodes = createLoader(
    (query: GlCodesQuery) => upstream.glCodes(query),
    ({ target, project, includeHide }) => `${target} ${includeHide} ${project}`,
  );
  const glCodeIndex = createLoader(
    async (key: Omit<GlCodesQuery, 'includeHide'>) => {
      const list = await glCodes.load({ ...key, includeHide: true });
      const byCode = new Map<string, GlCodeInfo>();
      for (const info of list.codes) {
        // Where the service lists a code twice, the first stands.
        if (info.code !== null && !byCode.has(info.code)) byCode.set(info.code, info);
      }
      return { list, byCode };
    },
    ({ target, project }) => `${target} ${project}`,
  );
  return { glCodes, glCodeIndex };
}

function createLoader<Key, Value>(
  load: (key: Key) => Promise<Value>,
  cacheKeyFn: (key: Key) => string,
): DataLoader<Key, Value, string> {
  return new DataLoader(
    async (keys) =>
      (await Promise.allSettled(keys.map(async (key) => load(key)))).map((result) =>
        result.status === 'fulfilled' ? result.value : result.reason,
      ),
    { cacheKeyFn },
  );
}
