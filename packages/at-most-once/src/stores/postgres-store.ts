import type pg from 'pg';
import { z } from 'zod';
import {
  type Change,
  COMPLETENESS_KEY,
  type Entry,
  type IdempotencyStore,
  inTransactions,
  type Reading,
  StoreUnavailable,
  type SwapResult,
  shareOf,
  type Usage,
} from '../store.ts';
import { PostgresConnections } from './postgres-connections.ts';
import { CHANGE, LARGEST_CALLERS, READ, SWEEP, SWEEP_ROWS, USAGE } from './postgres-statements.ts';

const readSchema = z.tuple([
  z.object({
    serverId: z.string(),
    history: z.string(),
    now: z.number(),
    version: z.string().nullable(),
    text: z.string().nullable(),
    replayedTo: z.string().nullable(),
  }),
]);
const swapResult = z.enum(['swapped', 'other']);
const changesSchema = z.array(z.object({ key: z.string(), result: swapResult, lsn: z.string() }));
const usageSchema = z.tuple([
  z.object({ keys: z.number(), bytes: z.number(), rowBytes: z.number() }),
]);
const callersSchema = z.array(z.object({ caller: z.string() }));

/** A change of no key, which needs the same rights as any other. */
const NO_CHANGE = '[]';

/** Checks whether a server can be used, without changing it. @throws StoreUnavailable, or Error if the URL cannot be used */
export async function checkPostgres(url: string): Promise<void> {
  const connections = new PostgresConnections(url);
  try {
    await connections.tryOut(CHANGE, [NO_CHANGE]);
  } finally {
    await connections.close();
  }
}

/**
 * Keeps keys in PostgreSQL, for several gateways. The changes of one iteration of the event loop, or of a busy millisecond,
 * are one statement, committed before they are confirmed. The table is created when it is missing.
 */
export class PostgresStore implements IdempotencyStore {
  readonly #maxBytes: number;
  readonly #connections: PostgresConnections;
  readonly #timer: NodeJS.Timeout;
  readonly #batch = inTransactions((changes: readonly Change[]) => this.#change(changes));
  usage: Usage | undefined;
  /** Whether the role has all rights. */
  #mayChange = false;
  /** The place in the log of the server where the last change of a key by this process began. It ends beyond that. */
  #changedAt: string | undefined;
  /** The callers that hold more than their share. */
  #largestCallers = new Set<string | null>();

  /** @param options `maxBytes` is shared out among callers when three quarters of it are used */
  constructor({ url, maxBytes }: { url: string; maxBytes: number }) {
    this.#maxBytes = maxBytes;
    this.#connections = new PostgresConnections(url);
    this.#timer = setInterval(() => void this.#sweep(), 10_000).unref();
    void this.#sweep();
  }

  async read(key: string): Promise<Reading> {
    // Otherwise only the first write would notice that a right is missing.
    if (!this.#mayChange) await this.#query(CHANGE, [NO_CHANGE]);
    this.#mayChange = true;
    const [row] = readSchema.parse((await this.#query(READ, [key])).rows);
    const { version, text, ...reading } = row;
    return { ...reading, entry: version === null || text === null ? null : { version, text } };
  }

  async swap(change: Change): Promise<SwapResult> {
    const isLarge = change.needsRoom && this.#largestCallers.has(change.caller);
    if (isLarge) throw new StoreUnavailable('share');
    return this.#batch.load(change);
  }

  /** Makes the changes of one iteration of the event loop in one statement: the first one of each key. */
  async #change(changes: readonly Change[]): Promise<SwapResult[]> {
    const first = new Map(changes.toReversed().map((change) => [change.key, change]));
    const input = first
      .values()
      .map(({ next, basis, ...rest }) => ({ ...rest, ...(next && inAscii(next)), ...basis }));
    // JSON has null in place of the retention Infinity.
    const { rows: swapped } = await this.#query(CHANGE, [JSON.stringify([...input])]);
    const made = changesSchema.parse(swapped);
    const results = new Map(made.map(({ key, result }) => [key, result]));
    const one = made.find(({ key, result }) => key !== COMPLETENESS_KEY && result === 'swapped');
    // Replies may arrive in another order than that of the log.
    if (one && positionOf(one.lsn) > positionOf(this.#changedAt ?? '0/0'))
      this.#changedAt = one.lsn;
    return changes.map((change) =>
      first.get(change.key) === change ? (results.get(change.key) ?? 'basis') : 'other',
    );
  }

  /**
   * A standby for which every commit waited has every entry when it is promoted. Another one may lack entries, although it
   * has the entry of completeness. This process recognizes such a standby, because it lacks the process's last change.
   */
  isContinuation(writtenOn: string, { serverId, replayedTo }: Reading): boolean {
    const timelineOf = (id: string) => id.slice(0, 8);
    if (timelineOf(writtenOn) === timelineOf(serverId)) return true;
    if (!requiresAll(writtenOn.slice(8).replace(/^\+ /, '').trim())) return false;
    return (
      this.#changedAt === undefined || positionOf(replayedTo ?? '0/0') > positionOf(this.#changedAt)
    );
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#connections.close();
  }

  /** Executes a statement on keys. After a failure, the usage is unknown. */
  async #query(statement: string, values: unknown[] = []): Promise<pg.QueryResult> {
    try {
      return await this.#connections.execute(statement, values);
    } catch (error) {
      this.usage = undefined;
      throw error;
    }
  }

  /** Deletes expired keys, and measures the table. */
  async #sweep(): Promise<void> {
    try {
      while ((await this.#query(SWEEP)).rowCount === SWEEP_ROWS);
      const { rows } = await this.#query(USAGE);
      const [{ keys, bytes, rowBytes }] = usageSchema.parse(rows);
      this.usage = { keys, bytes, maxKeys: Infinity, maxBytes: Infinity };
      const share = shareOf({ bytes, maxBytes: this.#maxBytes });
      const percent = Math.min(100, (2 ** 25 / rowBytes) * 100); // 32 MiB
      const sample = share && (await this.#query(LARGEST_CALLERS, [percent, share])).rows;
      const largest = callersSchema.parse(sample ?? []);
      this.#largestCallers = new Set(largest.map(({ caller }) => caller));
    } catch {
      // The next use reports the same error.
    }
  }
}

/**
 * Whether each commit waits for every standby of `synchronous_standby_names`, such as `a` or `ANY 2 (a, b)`. Otherwise the
 * standby that is promoted may be one for which it did not wait. Also false for names that this does not understand.
 * https://www.postgresql.org/docs/current/runtime-config-replication.html#GUC-SYNCHRONOUS-STANDBY-NAMES
 */
function requiresAll(setting: string): boolean {
  const [, count = '1', list = setting] =
    /^(?:(?:FIRST|ANY) *)?(\d+) *\((.*)\)$/i.exec(setting) ?? [];
  const names = list.split(',').map((name) => name.trim().toLowerCase());
  const isClear = names.every((name) => /^(?:[\w-]+|"[\w-]+")$/.test(name));
  const different = new Set(names.map((name) => name.replaceAll('"', '')));
  return isClear && names.length === Number(count) && different.size === names.length;
}

/**
 * An entry whose text, which is JSON, has only ASCII characters. A database whose encoding is not UTF-8 may lack others, and
 * would reject all changes of the statement because of one.
 */
function inAscii({ version, text }: Entry): Entry {
  const escapeOf = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return { version, text: text.replaceAll(/[^\0-\x7f]/g, escapeOf) };
}

/** A position in the log of a server, such as `16/B374D848`, as a number that can be compared. */
function positionOf(lsn: string): number {
  const [high = 0, low = 0] = lsn.split('/').map((part) => Number.parseInt(part, 16));
  return high * 2 ** 32 + low;
}
