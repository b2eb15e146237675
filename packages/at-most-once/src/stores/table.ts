import type { Entry, UnavailableReason } from '../store.ts';

/** What a row takes, and whose share it is. The caller of the store's own entry is an empty text. */
export type Size = { caller: string; bytes: number };

/** An entry with its size, and the time of its last change, in milliseconds. */
export type Row = Entry & Size & { changedAt: number };

/** Rows by key, in the order of their last changes, for one process. Methods throw `StoreUnavailable`. */
export type Table = {
  find(key: string): Row | undefined;
  /** Adds a row, or replaces one. Either is the newest one then. */
  put(key: string, row: Row): void;
  remove(key: string): void;
  sizes(): Iterable<Size>;
  /** Removes those of the `count` oldest rows that have not changed after `until`. Returns them. */
  sweep(count: number, until: number): Size[];
  /** Runs work on the rows, and returns its result when its changes are durable. Fails if they are not: then they are undone. */
  run<Result>(work: () => Result): Result | Promise<Result>;
  /** Called when the changes of several works were undone. */
  onUndo: () => void;
  /** Random for each process that opens the table. */
  readonly id: string;
  /** Whether the table has every entry of the process that used it before. */
  readonly isContinued: boolean;
  /** The time of the newest row when the table was opened, or 0. */
  readonly newestChange: number;
  /** Why the table cannot be used now. */
  readonly fault: UnavailableReason | undefined;
  close(): void;
};
