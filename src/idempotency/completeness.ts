import { z } from 'zod';
import type { Intent } from './idempotency-key.ts';
import {
  type Change,
  COMPLETENESS_KEY,
  type IdempotencyStore,
  parseText,
  type Reading,
  type StoreLog,
  type SwapResult,
} from './store.ts';
import type { StoreWatch } from './stores/store-watch.ts';

/**
 * How long a request may be on its way to the gateway: its intent may be older than its age by this time. This is the
 * only assumption about clocks and networks. For changes on their way to the store, the store checks it. So all records
 * that are written between a decision and its change still exist when the change is made: the retention is longer.
 */
const TRANSIT_MS = 30_000;

const recordSchema = z.object({
  id: z.string(),
  serverId: z.string(),
  /** Since when the store has every record, in milliseconds of its own clock. */
  since: z.number(),
  /** Until when keys without an age are rejected. */
  quarantineEnd: z.number(),
  /** When records may have been lost. Null for a new store, whose first process knew no other. */
  lossAt: z.number().nullable(),
  /** For how long records are kept, on all instances: the setting of the one that started last, in milliseconds. */
  retentionMs: z.number(),
  /** When the retention last got longer, and for how long the records from before that are kept. */
  longerSince: z.number(),
  earlierRetentionMs: z.number(),
});
type CompletenessRecord = z.infer<typeof recordSchema>;

type Options = {
  store: IdempotencyStore;
  retentionMs: number;
  quarantineMs: number;
  log: StoreLog;
  watch: StoreWatch['watch'];
};

/**
 * Knows since when the records of a store are complete (docs/decisions/0020). The store itself keeps this time, for
 * all processes. It moves to the present when the store may have lost records: it is another server, its clock is behind
 * its record of completeness, that record is missing, or the record is another one than this process has used.
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

  constructor(options: Options) {
    this.#options = options;
    const check = () => void options.watch(this.#check()).catch(() => {});
    // More often than within the time to object to a new store.
    this.#timer = setInterval(check, 2000).unref();
    check();
  }

  /**
   * The basis for the next change, to be taken before the key is read. What the change says about records that may be
   * missing is true if it succeeds.
   */
  async basis(): Promise<Change['basis']> {
    // A change that failed at the same time may have invalidated it again.
    while (this.#basis === undefined) await this.#check();
    return this.#basis;
  }

  /** The time of the store, at most as late as it is. */
  get now(): number {
    return performance.now() + this.#clockOffset;
  }

  /**
   * Judges a key without a record by the age of its intent, if the client gave it: whether it may be claimed, now or
   * after the quarantine, or may have been executed and forgotten.
   */
  judge(intent: Pick<Intent, 'ageMs' | 'receivedAt'>): 'new' | 'quarantine' | 'forgotten' {
    if (this.#record === undefined) return 'forgotten';
    const { lossAt, since, quarantineEnd } = this.#record;
    if (intent.ageMs === undefined) return this.now < quarantineEnd ? 'quarantine' : 'new';
    if (intent.ageMs > 0) return this.knows(intent) ? 'new' : 'forgotten';
    // Nothing is unanswered, but this may be a copy of a request from before a loss, which others may know.
    const arrivedAt = intent.receivedAt + this.#clockOffset;
    if (lossAt !== null) return arrivedAt - TRANSIT_MS < lossAt ? 'quarantine' : 'new';
    return since < quarantineEnd && arrivedAt < quarantineEnd ? 'quarantine' : 'new';
  }

  /** Why keys are not accepted for now, if `judge` says so. */
  get rejectionReason(): 'quarantine' | 'new' {
    return this.#record?.lossAt === null ? 'new' : 'quarantine';
  }

  /** Whether the store has every record from the whole time of an intent: without a record, nothing was executed. */
  knows({ ageMs, receivedAt }: Pick<Intent, 'ageMs' | 'receivedAt'>): boolean {
    if (ageMs === undefined || this.#record === undefined) return false;
    const sentAt = receivedAt + this.#clockOffset - TRANSIT_MS - ageMs;
    return sentAt >= keptSince(this.#record, this.now);
  }

  /** Notes the result of a change that was started at this time of `performance.now()`. */
  note(result: SwapResult, startedAt: number): void {
    if (result === 'basis') this.#basis = undefined; // The next change checks the record first.
    if (result === 'swapped') this.#lastUse = Math.max(this.#lastUse, startedAt);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #check(): Promise<void> {
    this.#checking ??= this.#readAndUpdate().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #readAndUpdate(): Promise<void> {
    const { store } = this.#options;
    for (;;) {
      const reading = await store.read(COMPLETENESS_KEY);
      const { entry, serverId } = reading;
      const found = entry && parseText(recordSchema, entry.text);
      const record = this.#next(found, reading);
      if (entry !== null && record === found) return this.#adopt(record, entry.version, reading);
      const next = { version: crypto.randomUUID(), text: JSON.stringify(record) };
      const validUntil = reading.now + TRANSIT_MS;
      const basis = { serverId, generation: null, validUntil, retentionMs: Infinity };
      const expected = entry?.version ?? null;
      const change = { key: COMPLETENESS_KEY, expected, next, caller: null, needsRoom: false };
      await store.swap({ ...change, basis });
    }
  }

  #adopt(record: CompletenessRecord, generation: string, { now, serverId }: Reading): void {
    if (record.id !== this.#record?.id) {
      // A process that starts after the quarantine does not report the loss again.
      const isRecent = this.#record !== undefined || now < record.quarantineEnd;
      const completeSince = new Date(record.since).toISOString();
      const quarantineEnd = new Date(record.quarantineEnd).toISOString();
      const { log } = this.#options;
      if (record.lossAt !== null && isRecent) {
        log.error({ completeSince, quarantineEnd }, 'idempotency store may have lost records');
      } else log.info({ completeSince }, 'idempotency store is complete');
    }
    this.#record = record;
    const { retentionMs } = record;
    this.#basis = { serverId, generation, validUntil: now + TRANSIT_MS, retentionMs };
    this.#clockOffset = now - performance.now();
  }

  /** The record as it must be. Returns `found` itself if it is right. */
  #next(found: CompletenessRecord | null, reading: Reading): CompletenessRecord {
    const { now, serverId } = reading;
    const { store, quarantineMs } = this.#options;
    const known = this.#record;
    // The process that starts last decides.
    const { retentionMs } = known ? (found ?? known) : this.#options;
    const begin = (isLoss: boolean, rejectMs: number) => {
      const times = { since: now, quarantineEnd: now + rejectMs, lossAt: isLoss ? now : null };
      const retention = { retentionMs, longerSince: now, earlierRetentionMs: 0 };
      return { id: crypto.randomUUID(), serverId, ...times, ...retention };
    };
    if (found === null && known === undefined) {
      // For 5 s, others that know an earlier record can object.
      return begin(false, store.exclusiveSince === undefined ? Math.min(5000, quarantineMs) : 0);
    }
    const isFrom = (record: CompletenessRecord) =>
      record.serverId === serverId || store.isContinuation?.(record.serverId, reading);
    // If its time is later, the clock was set back.
    const isContinued = found !== null && found.since <= now && isFrom(found);
    // A record of another process covers the keys of this one if they are older.
    const lastUse = now - (performance.now() - this.#lastUse);
    const isCovered = found && found.lossAt !== null && lastUse <= found.lossAt;
    // The record that a server has may be older than the one that this process knows.
    const isKnown = known === undefined || (found?.id === known.id && isFrom(known)) || isCovered;
    if (!isContinued || !isKnown) return begin(true, quarantineMs);
    if (found.serverId === serverId && found.retentionMs === retentionMs) return found;
    if (retentionMs <= found.retentionMs) return { ...found, serverId, retentionMs };
    const since = keptSince(found, now);
    const earlier = { longerSince: now, earlierRetentionMs: found.retentionMs };
    return { ...found, serverId, since, retentionMs, ...earlier };
  }
}

/** Since when all records still exist, in the time of the store: those from before may have expired. */
function keptSince(record: CompletenessRecord, now: number): number {
  const earlier = Math.min(record.longerSince, now - record.earlierRetentionMs);
  return Math.max(record.since, now - record.retentionMs, earlier);
}
