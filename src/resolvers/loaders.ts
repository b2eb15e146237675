import DataLoader from 'dataloader';
import type { UpstreamClient } from '../upstream/client.ts';
import type { Parameters, ReadName, Responses } from '../upstream/operations.ts';
import type { ListResponse, ServiceStatus } from '../upstream/responses.ts';
import { UpstreamError, type UpstreamErrorCode } from '../upstream/upstream-error.ts';
import { outcome } from './outcome.ts';
import { prepareSearch, type Searchable, type SearchText } from './search-text.ts';

/** The limits of a response (graphql/response-limits.ts). */
export type Limits = {
  /** Counts a list that will be read, by its key. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many. */
  admitLookup(key: string): void;
  /**
   * Resolves when there is CPU time to report a failed call. Each field that waits for the call gets an error of its own, and
   * hundreds of requests may wait for the same call, or have been cancelled together.
   */
  failureTurn(): Promise<void>;
  /** Reserves memory for a list with `bytes` of texts until the response exists. Throws as `Reservation.reserve` does. */
  reserveList(list: readonly object[], bytes: number): Promise<void> | undefined;
  /** Reserves memory for the texts of a list that are prepared for searches, and waits for CPU time to prepare them. */
  reserveSearchText(list: readonly object[]): Promise<void> | undefined;
  /** Reserves memory for a copy or an index of at most `items` items of a list, and waits for CPU time to make it. */
  reserveCopy(items: number): Promise<void> | undefined;
};

export type Loaders = ReturnType<typeof createLoaders>;

/** The items of a list by their keys. */
export type Index = ReadonlyMap<string, object>;

/** Creates the loaders of one request. Only reads have loaders, because a write is never de-duplicated. */
export function createLoaders(service: UpstreamClient, limits: Limits) {
  /** Each list is read once, even if the operation is executed a second time (graphql/execution.ts). */
  const lists = createLoader<ListResponse<object>>(limits);
  const indexes = createLoader<Index>(limits);
  const searchTexts = new Map<object, Promise<SearchText>>();

  /**
   * Reads a list once for a request, and counts it. Lists with the same key count once. Reserves memory for the items, plus
   * `addedBytes` for each. Resolvers have no other way to read.
   */
  function list<Name extends ReadName, Item extends object>(
    name: Name,
    parameters: Parameters<Name>,
    toItems: (response: Responses[Name]) => Item[],
    addedBytes = 0,
    key?: string,
  ): Promise<Omit<Responses[Name], 'list'> & { list: Item[] }> {
    const id = JSON.stringify([name, parameters]);
    limits.admitLookup(key ?? id);
    const read = async () => {
      limits.admitLookup(key ?? id); // Checks again, because by now all root fields have started and are counted.
      const response = await service.read(name, parameters);
      const items = toItems(response);
      await limits.reserveList(items, response.bytes + items.length * addedBytes);
      // The service's own list is left out, so that its memory is free once no request shares the response.
      return { ...response, list: items };
    };
    // Reads with the same id are of the same operation, and so have the same types.
    return lists.load({ id, read }) as Promise<Omit<Responses[Name], 'list'> & { list: Item[] }>;
  }

  /**
   * Reads the items of a list by their keys, for references to entities. Items without a key are left out. If the service
   * lists a key twice, the first item counts. A status other than OK is an error. Lists with the same id are read once. An
   * item needs its `__typename`, which is the type of the entity.
   */
  function index<Item extends { readonly __typename: string }>(
    id: string,
    read: () => Promise<ServiceStatus & { list: Item[] }>,
    keyOf: (item: Item) => string | null,
  ): Promise<Index> {
    const readIndex = async () => {
      const { list, ...status } = await read();
      expectOk(status);
      await limits.reserveCopy(list.length);
      const byKey = new Map<string, Item>();
      for (const item of list) {
        const key = keyOf(item);
        if (key !== null && !byKey.has(key)) byKey.set(key, item);
      }
      return byKey;
    };
    return indexes.load({ id, read: readIndex });
  }

  /** The texts of the items of a list for searches. They are prepared once, also for other requests that share the list. */
  function searchText<Item extends object>(
    list: Searchable<Item>,
    textsOf: (item: Item) => (string | null)[],
  ): Promise<SearchText> {
    const prepare = async () => {
      await limits.reserveSearchText(list);
      list.searchText ??= prepareSearch(list, textsOf);
      return list.searchText;
    };
    const preparing = searchTexts.get(list) ?? prepare();
    searchTexts.set(list, preparing);
    return preparing;
  }
  return { list, index, searchText };
}

/** The error code of references to a list by its status, because an entity cannot be a problem. Others are `UPSTREAM_FAILED`. */
const errorCodes: Partial<Record<string, UpstreamErrorCode>> = {
  LedgerNotPermitted: 'FORBIDDEN',
  LedgerUnrecognizedStatus: 'UPSTREAM_INVALID_RESPONSE',
};

/** Throws the error of each reference to a list if the status of the list is not OK. */
function expectOk(status: ServiceStatus): void {
  const { __typename } = outcome(status, { __typename: 'OK' });
  if (__typename === 'OK') return;
  throw new UpstreamError(errorCodes[__typename] ?? 'UPSTREAM_FAILED', { fault: __typename });
}

/** Something that is read once for a request. Lookups with the same id are equal. */
type Lookup<Value> = { id: string; read: () => Promise<Value> };

function createLoader<Value>(limits: Limits): DataLoader<Lookup<Value>, Value, string> {
  const loadAll = async (lookups: readonly Lookup<Value>[]) => {
    const results = await Promise.all(
      lookups.map(({ read }) => read().catch((error: Error) => error)),
    );
    if (results.some((result) => result instanceof Error)) await limits.failureTurn();
    return results;
  };
  return new DataLoader(loadAll, { cacheKeyFn: ({ id }) => id });
}
