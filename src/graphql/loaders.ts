import DataLoader from 'dataloader';
import type { RequestScope } from '../request-scope.ts';
import type { Reads } from '../upstream/call.ts';
import type { ReadRequest } from '../upstream/operations.ts';
import type { ListResponse } from '../upstream/responses.ts';
import type { ResponseLimits } from './response-limits.ts';

export type Loaders = ReturnType<typeof createLoaders>;

/** A list, with what was made of it for all requests that share it, by the functions that made it. */
type Shared<Item> = readonly Item[] & { made?: Map<unknown, Promise<unknown>> };

/** A list that is read once for a request, or the error of its call. Lookups with the same id are equal. */
type Lookup = { id: string; read: () => Promise<ListResponse<object> | Error> };

/** Makes something of a list. Calls `turn` before each part of the work, which waits for CPU time. */
type MakeOnce<Item, Value> = (
  list: readonly Item[],
  turn: () => Promise<void> | undefined,
) => Promise<Value>;

/** Creates the loaders of one request. Only reads have loaders, because a write is never de-duplicated. */
export function createLoaders(reads: Reads, scope: RequestScope, limits: ResponseLimits) {
  /** Each list is read once, even if the operation is executed a second time (graphql/execution.ts). */
  const lists = createListLoader(scope);

  /**
   * Reads a list once for a request. Each item has so many `addedBytes` of texts that the response lacks. Resolvers have no other
   * way to read.
   */
  function list<List extends ListResponse<object>, Item extends object>(
    request: ReadRequest<List>,
    toItems: (response: List) => Item[],
    addedBytes: number,
  ): Promise<Omit<List, 'list'> & { list: Item[] }> {
    const id = request.operation.name + request.search;
    const read = async () => {
      try {
        const response = await reads.read(request, scope);
        const items = toItems(response);
        limits.noteTexts(items, response.bytes + items.length * addedBytes);
        // The service's own list is left out, so that its memory is free once no request shares the response.
        return { ...response, list: items };
      } catch (error) {
        return error as Error;
      }
    };
    // Reads with the same id are of the same operation, and so have the same types.
    return lists.load({ id, read }) as Promise<Omit<List, 'list'> & { list: Item[] }>;
  }

  /** Makes something of a list once for all requests that share it, which have the same caller, even if a client disconnects. */
  function once<Item, Value>(list: Shared<Item>, make: MakeOnce<Item, Value>): Promise<Value> {
    list.made ??= new Map();
    const making = list.made.get(make) ?? make(list, () => scope.turn());
    list.made.set(make, making);
    return making as Promise<Value>; // It was made by the same function.
  }

  /** Makes something of a list that takes a reference for each item at most, such as a part of it. */
  async function derive<Result>(list: readonly object[], make: () => Result): Promise<Result> {
    await scope.reservation.reserve(list.length * 8, scope.signal);
    await scope.turn(scope.signal); // Many may get their memory in the same iteration of the event loop.
    return make();
  }
  return { list, once, derive };
}

function createListLoader({ turn }: RequestScope) {
  const readAll = async (lookups: readonly Lookup[]) => {
    // None of them rejects, so that one may fail while another one is waited for.
    const reading = lookups.map(({ read }) => read());
    const results: (ListResponse<object> | Error)[] = [];
    let hasFailed = false;
    for (const one of reading) {
      const result = await one;
      hasFailed ||= result instanceof Error;
      results.push(result);
    }
    // Each field that waits for a failed call gets an error of its own, and hundreds of requests may wait for the same call.
    if (hasFailed) await turn();
    return results;
  };
  return new DataLoader(readAll, { cacheKeyFn: ({ id }: Lookup) => id });
}
