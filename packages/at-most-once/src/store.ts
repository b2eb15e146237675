import DataLoader from 'dataloader';
import type { z } from 'zod';

/** An entry of a store, under a key. The documentation calls it the record of the key. */
export type Entry = {
  /** A random text, which changes with the entry. */
  version: string;
  text: string;
};

export type Reading = {
  entry: Entry | null;
  /** The time of the store, in milliseconds since 1970. */
  now: number;
  /** The server that was read. Another one may lack entries: see `isContinuation`. */
  serverId: string;
  /**
   * Where the data of the server comes from. Two servers with the same id have the same entries only if this is the same, too.
   * Undefined if the store has only one server. Version 1.0.0 neither reads nor writes it.
   */
  history?: string;
  /** Of a PostgreSQL server that was promoted: up to which place in the log it has the changes of its primary. */
  replayedTo?: string | null;
};

/** A change of an entry. It is made only if the entry still has the expected version. */
export type Change = {
  key: string;
  /** The version to replace. Null if the key must be free. */
  expected: string | null;
  /** The new entry. Null frees the key. */
  next: Entry | null;
  /** A hash of the caller that holds the entry. Null for the store's own entry. */
  caller: string | null;
  /** Whether the change adds a claim. Then it is not made if the store, or the share of the caller, is full. */
  needsRoom: boolean;
  basis: {
    /** The server to change. */
    serverId: string;
    history: string | undefined;
    /** The version that the entry at `COMPLETENESS_KEY` must have. */
    generation: string | null;
    /**
     * Until when the change may be made, in the time of the store. Later, an entry may have been written and have expired
     * since the key was read.
     */
    validUntil: number;
    /** For how long the entry is kept, in milliseconds. The store's own entry never expires. */
    retentionMs: number;
  };
};

/** Whether a change was made. `other`: the key has another version. `basis`: the basis is not true any more, or its time is over. */
export type SwapResult = 'swapped' | 'other' | 'basis';

/** Reads the text of an entry. */
export function parseText<Content>(schema: z.ZodType<Content>, text: string): Content {
  try {
    return schema.parse(JSON.parse(text));
  } catch {
    throw new StoreUnavailable('corrupt'); // Another program has written the text.
  }
}

/** The key of the entry that says since when the store is complete (completeness.ts). It never expires. */
export const COMPLETENESS_KEY = 'complete-since';

/** How full a store is. A limit is Infinity if the store has none. */
export type Usage = { keys: number; maxKeys: number; bytes: number; maxBytes: number };

/** The most bytes that one caller may hold in a store that several processes share. Undefined while most of it is free. */
export function shareOf({ bytes, maxBytes }: Pick<Usage, 'bytes' | 'maxBytes'>) {
  return bytes > maxBytes * 0.75 ? Math.floor(maxBytes / 4) : undefined;
}

/**
 * Keeps texts under keys. The retention of a key begins with its last change. All rules about claims are in claims.ts. Every
 * method throws `StoreUnavailable` when the store cannot be used.
 */
export type IdempotencyStore = {
  read(key: string): Reading | Promise<Reading>;
  /** Makes a change atomically and durably. Throws `ReplyLost` if it is not known whether the change was made. */
  swap(change: Change): SwapResult | Promise<SwapResult>;
  /** Whether a server certainly has every entry that was written on another one. A store without this method is never sure. */
  isContinuation?(writtenOn: string, reading: Reading): boolean;
  /** Since when no other process has changed the store, in the store's time. Undefined if other processes may. */
  readonly exclusiveSince?: number;
  /** Undefined while the store cannot be used. */
  readonly usage: Usage | undefined;
  close(): Promise<void>;
};

/** Why a store cannot be used. The list is short, so that it can be a label of a metric. */
export type UnavailableReason =
  | 'busy'
  | 'closed'
  | 'connecting'
  | 'corrupt'
  | 'evicting'
  | 'failed'
  | 'full'
  | 'loading'
  | 'locked'
  | 'moved'
  | 'new'
  | 'no_database'
  | 'no_table'
  | 'not_replicated'
  | 'not_writable'
  | 'quarantine'
  | 'read_only'
  | 'share'
  | 'timeout'
  | 'unauthorized'
  | 'unreachable'
  | 'unsupported';

/** The store cannot be used. Neither the message nor a property holds the store's URL or its credentials. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
  readonly reason: UnavailableReason;
  /** The code of an error of the network. */
  readonly code: string | undefined;

  constructor(
    reason: UnavailableReason,
    message = `The idempotency store is unavailable: ${reason}`,
    code?: string,
  ) {
    super(message);
    this.reason = reason;
    this.code = code;
  }
}

/** The reply did not arrive: the store may have made the change, or may still make it. */
export class ReplyLost extends StoreUnavailable {
  override readonly name = 'ReplyLost';
}

/**
 * Collects work, so that many changes share one transaction: the work of one iteration of the event loop, or that of a
 * millisecond if the last transaction was less than a millisecond ago.
 */
export function inTransactions<Work, Result>(
  run: (work: readonly Work[]) => Promise<(Result | Error)[]>,
) {
  let lastAt = -Infinity;
  const runNow = (work: readonly Work[]) => {
    const running = run(work);
    // The transaction of SQLite is committed here. That of PostgreSQL has only begun.
    lastAt = performance.now();
    return running;
  };
  const batchScheduleFn = (callback: () => void) =>
    void (performance.now() < lastAt + 1 ? setTimeout(callback, 1) : setImmediate(callback));
  return new DataLoader<Work, Result>(runNow, { cache: false, batchScheduleFn });
}

/** Takes a log line: its details, and its message. */
type Write = (details: object, message: string) => void;

/** A log, such as that of pino. */
export type StoreLog = { info: Write; warn: Write; error: Write };
