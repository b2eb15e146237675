import { monitorEventLoopDelay } from 'node:perf_hooks';
import { z } from 'zod';
import {
  BasisChanged,
  type Change,
  COMPLETENESS_KEY,
  type IdempotencyStore,
  parseText,
  type Reading,
  type StoreLog,
} from './store.ts';
import type { StoreWatch } from './store-watch.ts';

/** How often a process checks the record, so that it objects to a new store before others use it. */
const CHECK_INTERVAL_MS = 2000;

/** How long a process that finds a new store waits for others that know an older one. */
const OBJECTION_MS = 5000;

/** A loss is reported by processes that start within this time. */
const RECENT_MS = 60_000;

/** How long a request may be on its way: its intent is older than its age by this time. */
const TRANSIT_MS = 1000;

const recordSchema = z.object({
  id: z.string(),
  serverId: z.string(),
  /** Since when the store has every record, in milliseconds of its own clock. */
  since: z.number(),
  /** Until when keys without an age are rejected. */
  quarantineEnd: z.number(),
  /** False for a new store, whose first process knew no other. */
  isLoss: z.boolean(),
});
type CompletenessRecord = z.infer<typeof recordSchema>;

/** What a process knows when it reads the record. */
type Known = {
  /** The id of the record that this process has used before. */
  id: string | undefined;
  /** When it last changed a key on this basis, in the time of the store or earlier. */
  lastUse: number;
  serverId: string;
  now: number;
};

/** Whether a key without a record may be claimed. `forgotten`: it may have been executed. */
export type Verdict = 'new' | 'forgotten' | 'quarantine';

type Options = {
  store: IdempotencyStore;
  retentionMs: number;
  quarantineMs: number;
  log: StoreLog;
  watch: StoreWatch;
};

/**
 * Knows since when the records of a store are complete (docs/decisions/0020). The store itself keeps this time, for
 * all processes. It moves to the present when the store may have lost records: another server, an older clock, no
 * such record, or one that another process made although this process knows an earlier one.
 */
export class Completeness {
  readonly #options: Options;
  readonly #timer: NodeJS.Timeout;
  #record: CompletenessRecord | undefined;
  #basis: Change['basis'] | undefined;
  /** The store's clock minus `performance.now()`: never more than it really is. */
  #clockOffset = 0;
  /** In the time of `performance.now()`. */
  #lastUse = -Infinity;
  #checking: Promise<void> | undefined;
  /** While the process is frozen or busy, requests wait unseen. */
  readonly #delay = monitorEventLoopDelay({ resolution: 20 });
  #lastMaxDelay = 0;

  constructor(options: Options) {
    this.#options = options;
    const check = () => void options.watch(this.#check()).catch(() => {});
    this.#delay.enable();
    this.#timer = setInterval(() => {
      this.#lastMaxDelay = this.#delay.max;
      this.#delay.reset();
      check();
    }, CHECK_INTERVAL_MS).unref();
    check();
  }

  /** The basis for the next change. Its verdicts are true if the change succeeds. */
  async basis(): Promise<Change['basis']> {
    // A change that failed at the same time may have invalidated it again.
    while (this.#basis === undefined) await this.#check();
    return this.#basis;
  }

  /** The time of the store, at most as late as it is. */
  get now(): number {
    return performance.now() + this.#clockOffset;
  }

  /** Judges a key without a record by the age of the intent in milliseconds, if the client gave it. */
  judge(ageMs: number | undefined): Verdict {
    if (this.#record === undefined) return 'forgotten';
    const { since, quarantineEnd } = this.#record;
    if (ageMs === undefined) return this.now < quarantineEnd ? 'quarantine' : 'new';
    if (ageMs === 0) return 'new'; // Nothing is unanswered.
    const delayMs = TRANSIT_MS + Math.max(this.#delay.max, this.#lastMaxDelay) / 1e6;
    const oldestMs = ageMs + delayMs;
    const isForgotten = this.now - oldestMs < since || oldestMs >= this.#options.retentionMs;
    return isForgotten ? 'forgotten' : 'new';
  }

  /** Notes a change that was started at this time of `performance.now()` and has succeeded. */
  used(startedAt: number): void {
    this.#lastUse = Math.max(this.#lastUse, startedAt);
  }

  /** Checks the record before the next change. */
  invalidate(): void {
    this.#basis = undefined;
  }

  close(): void {
    clearInterval(this.#timer);
    this.#delay.disable();
  }

  #check(): Promise<void> {
    this.#checking ??= this.#readAndUpdate().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #readAndUpdate(): Promise<void> {
    const { store, quarantineMs } = this.#options;
    for (;;) {
      const reading = await store.read(COMPLETENESS_KEY);
      const { entry, now, serverId } = reading;
      const found = entry && parseText(recordSchema, entry.text);
      const lastUse = now - (performance.now() - this.#lastUse);
      const known = { id: this.#record?.id, lastUse, serverId, now };
      const record = nextRecord(found, known, store, quarantineMs);
      if (entry !== null && record === found) return this.#adopt(record, entry.version, reading);
      const next = { version: crypto.randomUUID(), text: JSON.stringify(record) };
      const basis = { serverId, generation: null };
      const expected = entry?.version ?? null;
      const change = { key: COMPLETENESS_KEY, expected, next, caller: null, needsRoom: false };
      await store.swap({ ...change, basis }).catch((error: unknown) => {
        if (!(error instanceof BasisChanged)) throw error;
      });
    }
  }

  #adopt(record: CompletenessRecord, generation: string, { now, serverId }: Reading): void {
    if (record.id !== this.#record?.id) {
      this.#lastUse = -Infinity;
      // A process that starts long after a loss does not report it again.
      const isRecent = this.#record !== undefined || now < record.since + RECENT_MS;
      const completeSince = new Date(record.since).toISOString();
      const quarantineEnd = new Date(record.quarantineEnd).toISOString();
      if (record.isLoss && isRecent) {
        const details = { completeSince, quarantineEnd };
        this.#options.log.error(details, 'idempotency store may have lost records');
      } else this.#options.log.info({ completeSince }, 'idempotency store is complete');
    }
    this.#record = record;
    this.#basis = { serverId, generation };
    this.#clockOffset = now - performance.now();
  }
}

/** The record as it must be. Returns `found` itself if it is right. */
export function nextRecord(
  found: CompletenessRecord | null,
  { id, lastUse, serverId, now }: Known,
  store: Pick<IdempotencyStore, 'isContinuation' | 'exclusiveSince'>,
  quarantineMs: number,
): CompletenessRecord {
  const begin = (isLoss: boolean, rejectMs: number) => {
    return { id: crypto.randomUUID(), serverId, since: now, quarantineEnd: now + rejectMs, isLoss };
  };
  if (found === null && id === undefined) {
    const isShared = store.exclusiveSince === -Infinity;
    return begin(false, isShared ? Math.min(OBJECTION_MS, quarantineMs) : 0);
  }
  const isContinued =
    found !== null &&
    found.since <= now && // Or else the clock was set back.
    store.isContinuation(found.serverId, serverId);
  // A record of another process covers the keys of this one if they are older.
  const isCovered = found?.isLoss && lastUse <= found.since;
  const isKnown = id === undefined || found?.id === id || isCovered;
  if (!isContinued || !isKnown) return begin(true, quarantineMs);
  return found.serverId === serverId ? found : { ...found, serverId };
}
