import { z } from 'zod';
import type { Intent } from './intent.ts';
import {
  type Change,
  COMPLETENESS_KEY,
  type IdempotencyStore,
  parseText,
  type Reading,
  type StoreLog,
  type SwapResult,
} from './store.ts';
import type { StoreWatch } from './store-watch.ts';

/**
 * How long a request may be on its way to the gateway. An intent may be older than the age in its request by this time.
 * Nothing checks this. It is the only assumption about networks. A change may be on its way to the store for as long, which
 * the store checks by its own clock. The retention is longer, so whatever is stored between a decision and its change still
 * exists when the change is made.
 *
 * There are assumptions about clocks, too. A client does not send an age that is too small
 * (docs/explanation/at-most-once.md). The clock of the store is not set forward: entries would then expire too early, and
 * intents from before a loss would seem to be later than the loss. It is not set back by about the retention or more while a
 * change is on its way (docs/explanation/stores.md).
 */
const TRANSIT_MS = 30_000;

/** What the entry at `COMPLETENESS_KEY` says, in JSON. */
const completeSinceSchema = z.object({
  id: z.string(),
  serverId: z.string(),
  /** Of the server. It is missing if version 1.0.0 has written the entry. */
  history: z.string().optional(),
  /** Since when the store has every claim, in milliseconds of its own clock. */
  since: z.number(),
  /** Until when keys without an age are rejected. */
  quarantineEnd: z.number(),
  /** When claims may last have been lost. Null for a new store that no process has used before. */
  lossAt: z.number().nullable(),
  /** For how long claims are kept, in milliseconds. All processes use the setting of the one that started last. */
  retentionMs: z.number(),
  /** When the retention last became longer, and for how long claims from before that are kept. */
  longerSince: z.number(),
  earlierRetentionMs: z.number(),
});
type CompleteSince = z.infer<typeof completeSinceSchema>;

type Options = {
  store: IdempotencyStore;
  retentionMs: number;
  quarantineMs: number;
  log: StoreLog;
  watch: Pick<StoreWatch, 'succeeded' | 'failed'>;
};

/**
 * Knows since when the claims of a store are complete (docs/decisions/0020). An entry of the store keeps this time for all
 * processes. The time moves to the present when the store may have lost claims: the store is another server, its clock is
 * behind the entry, the entry is missing, or the entry differs from the one that this process has used.
 */
export class Completeness {
  readonly #options: Options;
  readonly #timer: NodeJS.Timeout;
  /**
   * The basis of the next change, if it is known. Take it before you read the key: if the change succeeds, what was decided about
   * claims that may be missing was true.
   */
  basis: Change['basis'] | undefined;
  #known: CompleteSince | undefined;
  /** The store's clock minus `performance.now()`. May be too small, and is never too large. */
  #clockOffset = 0;
  /** When the store was last used, in the time of `performance.now()`. */
  #lastUse = -Infinity;
  #checking: Promise<void> | undefined;

  constructor(options: Options) {
    this.#options = options;
    const { succeeded, failed } = options.watch;
    const check = () => void this.#check().then(succeeded, failed);
    // The interval is shorter than the time in which a process can object to a new store.
    this.#timer = setInterval(check, 2000).unref();
    check();
  }

  /** Finds the basis of the next change while none is known. */
  async findBasis(): Promise<Change['basis']> {
    // A change that has failed at the same time may have invalidated the basis again.
    while (this.basis === undefined) await this.#check();
    return this.basis;
  }

  /** The time of the store, or an earlier one. */
  get now(): number {
    return performance.now() + this.#clockOffset;
  }

  /**
   * Judges a key that the store does not have, by the age of its intent if the client sent it. `new`: the key may be claimed.
   * `quarantine`: it may be claimed after the quarantine. `forgotten`: it may have been executed, and its claim is lost or
   * expired.
   */
  judge(intent: Pick<Intent, 'ageMs' | 'receivedAt'>): 'new' | 'quarantine' | 'forgotten' {
    if (this.#known === undefined) return 'forgotten';
    const { lossAt, since, quarantineEnd } = this.#known;
    if (intent.ageMs === undefined) return this.now < quarantineEnd ? 'quarantine' : 'new';
    if (intent.ageMs > 0) return this.knows(intent) ? 'new' : 'forgotten';
    // With age 0, every earlier request got a response. But this request may be a late copy of one from before a loss. If
    // the store is new, only another process may know of the loss.
    const arrivedAt = intent.receivedAt + this.#clockOffset;
    if (lossAt !== null) return arrivedAt - TRANSIT_MS < lossAt ? 'quarantine' : 'new';
    return since < quarantineEnd && arrivedAt < quarantineEnd ? 'quarantine' : 'new';
  }

  /** Why keys are not accepted for now, if `judge` says so. */
  get rejectionReason(): 'quarantine' | 'new' {
    return this.#known?.lossAt === null ? 'new' : 'quarantine';
  }

  /** Whether the store has every claim since an intent began: if it has none of the intent, nothing was executed. */
  knows({ ageMs, receivedAt }: Pick<Intent, 'ageMs' | 'receivedAt'>): boolean {
    if (ageMs === undefined || this.#known === undefined) return false;
    const sentAt = receivedAt + this.#clockOffset - TRANSIT_MS - ageMs;
    return sentAt >= keptSince(this.#known, this.now);
  }

  /** Notes the result of a change. `startedAt` is its start in the time of `performance.now()`. */
  note(result: SwapResult, startedAt: number): void {
    if (result === 'basis') this.basis = undefined; // The next change checks the entry first.
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
    /** The entry that this process has begun, because it has found a loss or a new store. */
    let begunId: string | undefined;
    for (;;) {
      const reading = await store.read(COMPLETENESS_KEY);
      const { entry, serverId, history } = reading;
      const found = entry && parseText(completeSinceSchema, entry.text);
      const content = this.#next(found, reading);
      if (entry !== null && content === found) {
        return this.#adopt(content, entry.version, reading, content.id === begunId);
      }
      if (content.id !== found?.id) begunId = content.id;
      const next = { version: crypto.randomUUID(), text: JSON.stringify(content) };
      const validUntil = reading.now + TRANSIT_MS;
      const basis = { serverId, history, generation: null, validUntil, retentionMs: Infinity };
      const expected = entry?.version ?? null;
      const change = { key: COMPLETENESS_KEY, expected, next, caller: null, needsRoom: false };
      await store.swap({ ...change, basis });
    }
  }

  #adopt(
    content: CompleteSince,
    generation: string,
    { now, serverId, history }: Reading,
    isBegunHere: boolean,
  ): void {
    if (content.id !== this.#known?.id) {
      // If this process starts after the quarantine of a loss that another one found, that one has reported it.
      const isRecent = isBegunHere || this.#known !== undefined || now < content.quarantineEnd;
      const completeSince = new Date(content.since).toISOString();
      const quarantineEnd = new Date(content.quarantineEnd).toISOString();
      const { log } = this.#options;
      if (content.lossAt !== null && isRecent) {
        log.error({ completeSince, quarantineEnd }, 'idempotency store may have lost records');
      } else log.info({ completeSince }, 'idempotency store is complete');
    }
    this.#known = content;
    const { retentionMs } = content;
    this.basis = { serverId, history, generation, validUntil: now + TRANSIT_MS, retentionMs };
    this.#clockOffset = now - performance.now();
  }

  /** The entry as it must be. Returns `found` itself if nothing must change. */
  #next(found: CompleteSince | null, reading: Reading): CompleteSince {
    const { now, serverId, history } = reading;
    const { store, quarantineMs } = this.#options;
    const known = this.#known;
    // The setting of the process that started last applies.
    const { retentionMs } = known ? (found ?? known) : this.#options;
    const begin = (isLoss: boolean, rejectMs: number) => {
      const times = { since: now, quarantineEnd: now + rejectMs, lossAt: isLoss ? now : null };
      const retention = { retentionMs, longerSince: now, earlierRetentionMs: 0 };
      return { id: crypto.randomUUID(), serverId, history, ...times, ...retention };
    };
    if (found === null && known === undefined) {
      // For 5 s, processes that know an earlier entry can object.
      return begin(false, store.exclusiveSince === undefined ? Math.min(5000, quarantineMs) : 0);
    }
    const isFrom = (content: CompleteSince) => hasEntriesOf(content, reading, store);
    // If the time of the entry is later than now, the store's clock was set back.
    const isContinued = found !== null && found.since <= now && isFrom(found);
    // Another process may have noticed a loss first. Its entry covers what this process has stored before the loss, too.
    const lastUse = now - (performance.now() - this.#lastUse);
    const isCovered = found && found.lossAt !== null && lastUse <= found.lossAt;
    // The entry of the server may be older than the one that this process knows.
    const isKnown = known === undefined || (found?.id === known.id && isFrom(known)) || isCovered;
    if (!isContinued || !isKnown) return begin(true, quarantineMs);
    const isFromHere = found.serverId === serverId && found.history === history;
    const current = isFromHere ? found : { ...found, serverId, history };
    return found.retentionMs === retentionMs ? current : withRetention(current, retentionMs, now);
  }
}

/** The entry with another retention. If it becomes longer, claims from before are still kept for the earlier one. */
function withRetention(content: CompleteSince, retentionMs: number, now: number): CompleteSince {
  if (retentionMs < content.retentionMs) return { ...content, retentionMs };
  const since = keptSince(content, now);
  const earlier = { longerSince: now, earlierRetentionMs: content.retentionMs };
  return { ...content, since, retentionMs, ...earlier };
}

/** Whether the server that was read certainly has every entry of the server that wrote `content`. */
function hasEntriesOf(
  { serverId: writtenOn, history }: CompleteSince,
  reading: Reading,
  store: IdempotencyStore,
): boolean {
  if (history !== undefined && history !== reading.history) return false;
  return writtenOn === reading.serverId || (store.isContinuation?.(writtenOn, reading) ?? false);
}

/** Since when all claims still exist, in the time of the store. Earlier ones may have expired. */
function keptSince(content: CompleteSince, now: number): number {
  const earlier = Math.min(content.longerSince, now - content.earlierRetentionMs);
  return Math.max(content.since, now - content.retentionMs, earlier);
}
