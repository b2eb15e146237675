/** The limits of a response (graphql/response-limits.ts). */
export type Limits = {
  /** Counts a list to ask for. Throws `OPERATION_LIMIT_EXCEEDED` if there are too many. */
  admitLookup(key: string): void;
  /** Resolves when errors may be made of calls that have failed. */
  failureTurn(): Promise<void>;
  /** Books a list with so many bytes of texts that the request holds. */
  holdList(list: readonly object[], bytes: number): Promise<void> | undefined;
  /** Books a copy of a part of a list. */
  holdCopy(items: number): Promise<void> | undefined;
  /** Searches a list of so many bytes, in a turn. */
  search<Result>(bytes: number, search: () => Result): Promise<Result>;
  /** Visits items, and waits for CPU time meanwhile as often as it is needed. */
  visit<Item>(items: Iterable<Item>, visit: (item: Item) => void): Promise<void>;
};
