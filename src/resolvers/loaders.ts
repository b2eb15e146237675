import DataLoader from 'dataloader';
import type { UpstreamClient } from '../upstream/client.ts';
import type { ReadName, Responses } from '../upstream/operations.ts';
import type {
  GlCodeList,
  GlCodesQuery,
  IntegrationTarget,
  ListResponse,
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

/** The target and project of a list. */
export type GlCodesKey = Omit<GlCodesQuery, 'includeHide'>;

export type Loaders = ReturnType<typeof createLoaders>;

/** Creates the loaders of one request. Only reads have one: a write is never de-duplicated. */
export function createLoaders(service: UpstreamClient, limits: Limits) {
  /** By operation and query: an operation with a long list is executed a second time (graphql/execution.ts). */
  const lists = new Map<string, Promise<ListResponse<object>>>();

  /**
   * Reads a list, once for a request, counts it, and books the items that are made of it, to each of which so many bytes
   * are added. Lists with the same key count once. Resolvers have no other way to read.
   */
  function list<Name extends ReadName, Item extends object>(
    name: Name,
    query: Record<string, string>,
    toItems: (response: Responses[Name]) => Item[],
    addedBytes = 0,
    key?: string,
  ): Promise<ListResponse<Item>> {
    const id = JSON.stringify([name, query]);
    const read = async () => {
      limits.admitLookup(key ?? id);
      const response = await service.read(name, query);
      const { invoiceId, message, status, bytes } = response;
      const items = toItems(response);
      await limits.holdList(items, bytes + items.length * addedBytes);
      // Without the list of the service, whose memory is free once no request shares the response.
      return { invoiceId, message, status, bytes, list: items };
    };
    const reading = lists.get(id) ?? read();
    lists.set(id, reading);
    return reading as Promise<ListResponse<Item>>; // The items of an operation are of one type.
  }

  /** Equal queries of one request are one call to the service. All root fields are started and counted before. */
  const glCodes = createLoader(
    limits,
    (query: GlCodesQuery) => {
      const { target, project, includeHide } = query;
      const parameters = { target: String(target), project, includeHide: String(includeHide) };
      const toItems = (response: GlCodeList) => entitiesOf(response, query);
      const added = Buffer.byteLength(project); // Each of the codes has it.
      return list('getGLCodes5', parameters, toItems, added, `${target} ${project}`);
    },
    ({ target, project, includeHide }) => `${target} ${includeHide} ${project}`,
  );
  /** The codes of a target and project by `code`, hidden ones included. */
  const glCodeIndex = createLoader(
    limits,
    async (key: GlCodesKey) => {
      const response = await glCodes.load({ ...key, includeHide: true });
      const byCode = new Map<string, GlCodeEntity>();
      const add = (entity: GlCodeEntity) => {
        // If the service lists a code twice, the first one counts.
        if (entity.code !== null && !byCode.has(entity.code)) byCode.set(entity.code, entity);
      };
      await limits.visit(response.list, add);
      return { glCodes: response, byCode };
    },
    ({ target, project }) => `${target} ${project}`,
  );
  return { list, glCodes, glCodeIndex };
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
    ({ Code: code = null, Name: name = null, Value: value = null, Hide: hide = null }) => {
      return { target, project, code, name, value, hide };
    },
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
