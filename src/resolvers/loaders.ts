import DataLoader from 'dataloader';
import type { UpstreamClient } from '../upstream/client.ts';
import type { ReadName, Responses } from '../upstream/operations.ts';
import type { GlCodeList, ListResponse } from '../upstream/records.ts';
import { UpstreamError, type UpstreamErrorCode } from '../upstream/upstream-error.ts';
import { outcome } from './outcome.ts';

/** The limits of a response (graphql/response-limits.ts). */
export type Limits = {
  /** Counts a list to ask for, by its key. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many. */
  admitLookup(key: string): void;
  /**
   * Resolves when errors may be made of calls that have failed, one for each field that waits for them: hundreds of
   * requests may wait for the same call, or have disconnected.
   */
  failureTurn(): Promise<void>;
  /** Books a list with so many bytes of texts until its response exists. Throws as `Holding.hold` does. */
  holdList(list: readonly object[], bytes: number): Promise<void> | undefined;
  /** Books a copy of a part of a list with at most so many items, and waits for CPU time to make it. */
  holdCopy(items: number): Promise<void> | undefined;
  /** Visits items, and waits for CPU time meanwhile as often as it is needed. */
  visit<Item>(items: Iterable<Item>, visit: (item: Item) => void): Promise<void>;
};

/** A GL code with the target and project it was requested for, which are part of its key in a federated graph. */
export type GlCodeEntity = {
  /** Its integer (docs/service-api.md, section 2.7). */
  target: number;
  project: string;
  code: string | null;
  name: string | null;
  value: string | null;
  hide: number | null;
};

/** The target and project of a list. */
type GlCodesKey = Pick<GlCodeEntity, 'target' | 'project'>;

/** The query of getGLCodes5 (docs/service-api.md, section 4.1). */
type GlCodesQuery = GlCodesKey & { includeHide: boolean };

export type Loaders = ReturnType<typeof createLoaders>;

/** Creates the loaders of one request. Only reads have one: a write is never de-duplicated. */
export function createLoaders(service: UpstreamClient, limits: Limits) {
  /** Each is read once, also if the operation is executed a second time (graphql/execution.ts). */
  const lists = createLoader(
    limits,
    ({ read }: { id: string; read: () => Promise<ListResponse<object>> }) => read(),
    ({ id }) => id,
  );

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
    limits.admitLookup(key ?? id);
    const read = async () => {
      limits.admitLookup(key ?? id); // Again: by now, all root fields are started and counted.
      const response = await service.read(name, query);
      const { invoiceId, message, status, bytes } = response;
      const items = toItems(response);
      await limits.holdList(items, bytes + items.length * addedBytes);
      // Without the list of the service, whose memory is free once no request shares the response.
      return { invoiceId, message, status, bytes, list: items };
    };
    // The items of an operation are of one type.
    return lists.load({ id, read }) as Promise<ListResponse<Item>>;
  }

  const glCodes = (query: GlCodesQuery) => {
    const { target, project, includeHide } = query;
    const parameters = { target: String(target), project, includeHide: String(includeHide) };
    const toItems = (response: GlCodeList) => entitiesOf(response, query);
    const added = Buffer.byteLength(project); // Each of the codes has it.
    return list('getGLCodes5', parameters, toItems, added, glCodesKey(query));
  };
  /** The codes of a target and project by `code`, hidden ones included. A status other than OK is an error. */
  const glCodeIndex = createLoader(
    limits,
    async ({ target, project }: GlCodesKey) => {
      const { list, ...status } = await glCodes({ target, project, includeHide: true });
      const { __typename } = outcome(status, { __typename: 'GlCodeList' });
      if (__typename !== 'GlCodeList') {
        throw new UpstreamError(errorCodes[__typename] ?? 'UPSTREAM_FAILED', { fault: __typename });
      }
      const byCode = new Map<string | null, GlCodeEntity>();
      await limits.visit(list, (entity) => {
        // If the service lists a code twice, the first one counts.
        if (entity.code !== null && !byCode.has(entity.code)) byCode.set(entity.code, entity);
      });
      return byCode;
    },
    glCodesKey,
  );
  return { list, glCodes, glCodeIndex };
}

/** The error of references to a list, because an entity cannot be a problem type. Others are `UPSTREAM_FAILED`. */
const errorCodes: Partial<Record<string, UpstreamErrorCode>> = {
  LedgerNotPermitted: 'FORBIDDEN',
  LedgerUnrecognizedStatus: 'UPSTREAM_INVALID_RESPONSE',
};

/** The target and project of a list as a text, by which lists are counted. */
export function glCodesKey({ target, project }: GlCodesKey): string {
  return `${target} ${project}`;
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
