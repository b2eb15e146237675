import DataLoader from 'dataloader';
import type { UpstreamClient } from '../upstream/client.ts';
import type {
  GlCodeList,
  GlCodesQuery,
  IntegrationTarget,
  ServiceStatus,
} from '../upstream/records.ts';
import type { Limits } from './limits.ts';

/** A GL code with the target and project it was requested for, which are part of its key in a federated graph. */
export type GlCodeEntity = {
  target: IntegrationTarget;
  project: string;
  code: string | null;
  name: string | null;
  value: string | null;
  hide: number | null;
};

/** The GL codes of a query, with the status record and the size of the response in bytes. */
export type GlCodes = ServiceStatus & { codes: GlCodeEntity[]; bytes: number };

/** The target and project of a list. */
export type GlCodesKey = Omit<GlCodesQuery, 'includeHide'>;

export type Loaders = ReturnType<typeof createLoaders>;

/** Creates the loaders of one request. Only reads have one: a write is never de-duplicated. */
export function createLoaders(service: UpstreamClient, limits: Limits) {
  /** Equal queries of one request are one call to the service. */
  const glCodes = createLoader(
    limits,
    async (query: GlCodesQuery): Promise<GlCodes> => {
      limits.checkLookups(); // Runs after all root fields have been started and counted.
      const { target, project, includeHide } = query;
      const response = await service.read('getGLCodes5', {
        target: String(target),
        project,
        includeHide: String(includeHide),
      });
      const { invoiceId, message, status, bytes, list } = response;
      const codes = entitiesOf(response, query);
      // Each of the codes has the project.
      await limits.holdList(codes, bytes + list.length * Buffer.byteLength(project));
      // Without the list, whose memory is free once no request shares the response.
      return { invoiceId, message, status, bytes, codes };
    },
    ({ target, project, includeHide }) => `${target} ${includeHide} ${project}`,
  );
  /** The codes of a target and project by `code`, hidden ones included. */
  const glCodeIndex = createLoader(
    limits,
    async (key: GlCodesKey) => {
      const list = await glCodes.load({ ...key, includeHide: true });
      const byCode = new Map<string, GlCodeEntity>();
      const add = (entity: GlCodeEntity) => {
        // If the service lists a code twice, the first one counts.
        if (entity.code !== null && !byCode.has(entity.code)) byCode.set(entity.code, entity);
      };
      await limits.visit(list.codes, add);
      return { glCodes: list, byCode };
    },
    ({ target, project }) => `${target} ${project}`,
  );
  return { glCodes, glCodeIndex };
}

/**
 * The entities of a list, which requests that share the response share: each of them would need as much memory
 * again. A property, because the garbage collector would keep the values of a WeakMap for longer.
 */
function entitiesOf(
  response: GlCodeList & { entities?: GlCodeEntity[] },
  { target, project }: GlCodesQuery,
): GlCodeEntity[] {
  response.entities ??= response.list.map(
    ({ Code = null, Name = null, Value = null, Hide = null }) => ({
      target,
      project,
      code: Code,
      name: Name,
      value: Value,
      hide: Hide,
    }),
  );
  return response.entities;
}

function createLoader<Key, Value>(
  limits: Limits,
  load: (key: Key) => Promise<Value>,
  cacheKeyFn: (key: Key) => string,
): DataLoader<Key, Value, string> {
  const loadAll = async (keys: readonly Key[]) => {
    const results = await Promise.all(keys.map((key) => load(key).catch((error: Error) => error)));
    if (results.some((result) => result instanceof Error)) await limits.failureTurn();
    return results;
  };
  return new DataLoader(loadAll, { cacheKeyFn });
}
