import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type EnterOptions, Gate, rejectionWith } from '../account/gate.ts';
import { textLength, withShortTexts } from '../lib/short-text.ts';
import type { WriteName } from '../upstream/operations.ts';
import type { Completeness } from './completeness.ts';
import { keyOverused, keyReused, keySettled } from './idempotency-error.ts';
import type { Intent } from './idempotency-key.ts';
import { isWriteName } from './recorded-outcome.ts';
import {
  BasisChanged,
  type Entry,
  type IdempotencyStore,
  parseText,
  StoreUnavailable,
} from './store.ts';

/** A claim on an idempotency key for one root field. */
export type Claim = Intent & {
  responseName: string;
  operation: WriteName;
  /** A random token that identifies this claim. */
  owner: string;
  /** A hash of the upstream request, to recognize a key that is reused for another one. */
  fingerprint: string;
  /** Milliseconds after which an unfinished claim is orphaned. Shorter than the retention. */
  leaseMs: number;
};

type WriteState =
  /** Another owner holds the key, and its lease has not ended. */
  | { state: 'in-flight' }
  /** The lease ended without an outcome, or the store may have lost the claim. Only an outcome can follow. */
  | { state: 'orphaned'; operation: WriteName; isNew: boolean }
  /** Final. */
  | { state: 'recorded'; outcome: unknown };

/** What a claim finds or makes: the caller may send if the key was free. `held` is for `record` and `release`. */
export type ClaimResult = { state: 'claimed'; held: Held | undefined } | WriteState;

/** The length of the texts of an outcome for which there is no room, in characters. */
const CUT_TEXT = 1000;
/** What a record may grow by without room for it, in characters. */
const SMALL_GROWTH = 10_000;
/** A longer record, in characters, is not kept while a write is in flight. */
const LONG_RECORD = 10_000;

/** The bytes of records that may be on their way to and from the store at the same time. */
const MAX_TRANSFERS = 16 * 1024 * 1024;
/** What a longer one counts: with more than a share, it could wait for ever behind those of others. */
const MAX_TRANSFER = MAX_TRANSFERS / 4;
/** What a shorter one counts: more than 64 at a time would only wait for each other in the store. */
const MIN_TRANSFER = MAX_TRANSFERS / 64;
/** How long an exchange with the store may wait for others, in milliseconds. */
const MAX_WAIT_MS = 5000;
/** The bytes of recording an outcome for each character of its texts, about: in memory, and on the way to the store. */
export const RECORD_MEMORY = 2;

/** The work of reading a record, in bytes of a turn for each byte. */
const READ_WORK = 3;

/** A record as it was last seen: the next change need not read it. Kept while a write is in flight, if it is short. */
export type Held = { entry: Entry | null; record: KeyRecord };

/** What became of the fields that were executed with a key. */
export type Settlement = {
  writes: (WriteState & { responseName: string })[];
  /** Whether nothing else can have been executed. */
  isComplete: boolean;
};

const writeSchema = z.object({
  responseName: z.string(),
  /** Empty if the claim itself may be lost. */
  owner: z.string(),
  operation: z.string().refine(isWriteName),
  fingerprint: z.string(),
  /** In the time of the store. */
  claimedAt: z.number(),
  leaseEnd: z.number(),
  isOrphaned: z.boolean().optional(),
  /** In the form of recorded-outcome.ts. */
  outcome: z.unknown().optional(),
});
type Write = z.infer<typeof writeSchema>;

const keyRecordSchema = z.object({ isSettled: z.boolean(), writes: z.array(writeSchema) });
type KeyRecord = z.infer<typeof keyRecordSchema>;

/** The decision about a record: the record to store, if it changes, and the result. */
type Decision<Result> = { next?: KeyRecord; result: Result };
type Changed<Result> = { result: Result; held?: Held };
/** What a change adds to a record, and whether it needs room in the store for that. */
type Growth = { bytes: number; needsRoom: boolean };
type Decide<Result> = (record: KeyRecord, now: number) => Decision<Result>;

/**
 * The rules of claims, on top of any store. A key has one record for all its root fields. Each rule reads the record
 * and replaces it, if nobody else has done so in between. A claim is never taken over: before it is reported as
 * orphaned, that is written to its record, and then its owner cannot free it any more.
 */
export class Claims {
  readonly #store: IdempotencyStore;
  readonly #completeness: Completeness;
  readonly #maxWritesPerKey: number;
  /** The bytes of records on their way to and from the store, by caller. */
  readonly #transfers = new Gate({
    limit: MAX_TRANSFERS,
    maxWaiting: Infinity,
    maxWaitMs: MAX_WAIT_MS,
    rejection: rejectionWith(new StoreUnavailable('busy')),
  });

  /** @param maxWritesPerKey the most response names that a key may have */
  constructor(store: IdempotencyStore, completeness: Completeness, maxWritesPerKey: number) {
    this.#store = store;
    this.#completeness = completeness;
    this.#maxWritesPerKey = maxWritesPerKey;
  }

  /**
   * Claims a key. After `ReplyLost`, the key must be released: the store may have made the claim.
   *
   * @throws GatewayError if the key cannot be used for this write, StoreUnavailable
   */
  async claim(claim: Claim): Promise<ClaimResult> {
    const { responseName, owner, operation, fingerprint, leaseMs } = claim;
    const decide: Decide<ClaimResult | undefined> = (record, now) => {
      const write = writeOf(record, responseName);
      if (write !== undefined) {
        if (write.fingerprint !== fingerprint) throw keyReused();
        return this.#stateOf(record, write, now);
      }
      if (record.isSettled) throw keySettled();
      if (record.writes.length >= this.#maxWritesPerKey) throw keyOverused();
      const verdict = this.#completeness.judge(claim.age());
      if (verdict === 'quarantine') throw new StoreUnavailable('quarantine');
      if (verdict === 'new') {
        const times = { claimedAt: now, leaseEnd: now + leaseMs };
        const claimed = { responseName, owner, operation, fingerprint, ...times };
        return { next: withWrite(record, claimed), result: undefined };
      }
      const next = withWrite(record, orphan(claim, now));
      return { next, result: { state: 'orphaned', operation, isNew: true } };
    };
    // Most keys are new, so the first attempt does not read.
    const isLikelyNew = this.#completeness.judge(claim.age()) === 'new';
    const expected = isLikelyNew ? { entry: null, record: emptyRecord } : undefined;
    const { result, held } = await this.#change(claim, expected, decide);
    return result ?? { state: 'claimed', held };
  }

  /**
   * Stores the outcome of a claim, also after its lease. Where the caller has no room for all of it, its texts are cut:
   * the outcomes of claims in flight must not take the room of others.
   */
  async record(claim: Claim, held: Held | undefined, outcome: unknown): Promise<void> {
    const { responseName, owner, fingerprint } = claim;
    const store = async (value: unknown, needsRoom: boolean) => {
      const decide: Decide<void> = (record, now) => {
        // Without a record, or with one that says so, the store has lost the claim.
        const write = writeOf(record, responseName) ?? orphan(claim, now);
        const isLost = write.owner === '' && write.fingerprint === fingerprint;
        if ((write.owner !== owner && !isLost) || write.outcome !== undefined) {
          return { result: undefined };
        }
        const next = withWrite(record, { ...write, outcome: value });
        return { next, result: undefined };
      };
      const bytes = textLength(value) * RECORD_MEMORY;
      await this.#change(claim, held, decide, { bytes, needsRoom });
    };
    try {
      await store(outcome, true);
    } catch (error) {
      const isFull = error instanceof StoreUnavailable && /^(full|share)$/.test(error.reason);
      if (!isFull || textLength(outcome) <= CUT_TEXT) throw error; // Nothing can be cut.
      await store(withShortTexts(outcome, CUT_TEXT), false);
    }
  }

  /** Frees a key whose write was not sent or was refused. Does nothing after the lease. */
  async release(claim: Claim, held: Held | undefined): Promise<void> {
    const { responseName, owner } = claim;
    await this.#change(claim, held, (record, now) => {
      const write = writeOf(record, responseName);
      const isOwn = write?.owner === owner && write.outcome === undefined;
      if (!isOwn || write.isOrphaned || write.leaseEnd <= now) return { result: undefined };
      const writes = record.writes.filter((one) => one !== write);
      return { next: { ...record, writes }, result: undefined };
    });
  }

  /** Closes a key for the fields without a record, and returns the others. */
  async settle(of: Intent): Promise<Settlement> {
    const decide: Decide<Settlement> = (record, now) => {
      let next = { ...record, isSettled: true };
      const writes = record.writes.map((write) => {
        const state = this.#stateOf(next, write, now);
        next = state.next ?? next;
        return { responseName: write.responseName, ...state.result };
      });
      const ageMs = of.age();
      const isComplete = ageMs !== undefined && this.#completeness.judge(ageMs) === 'new';
      // The record is replaced in any case, which confirms that the store is still complete.
      return { next, result: { writes, isComplete } };
    };
    return (await this.#change(of, undefined, decide)).result;
  }

  /** Applies a rule to a record: first to the one that is expected, if any, then to the actual one. */
  async #change<Result>(
    of: Intent,
    expected: Held | undefined,
    decide: Decide<Result>,
    growth: Growth = { bytes: 0, needsRoom: true },
  ): Promise<Changed<Result>> {
    // An outcome waits for as long as it takes: repeats need it.
    const isOutcome = growth.bytes > 0;
    const waiting = { since: performance.now(), isUrgent: isOutcome, isPatient: isOutcome };
    for (let held = expected; ; held = undefined) {
      const size = () => this.#store.sizeOf(of.key);
      const short = { ...waiting, amount: MIN_TRANSFER };
      const bytes = held ? 0 : await this.#transfer(of.caller, short, size);
      const amount = Math.min(Math.max(bytes + growth.bytes, MIN_TRANSFER), MAX_TRANSFER);
      const changed = await this.#transfer(of.caller, { ...waiting, amount }, async () => {
        // Any number of requests may need a record of megabytes: each reads it in a turn of its own.
        if (!held) await of.turn(bytes * READ_WORK);
        return this.#tryToChange(of, held, decide, growth.needsRoom);
      });
      if (changed) return changed;
    }
  }

  /** Exchanges so many bytes with the store: thousands of exchanges of one caller would delay those of others. */
  async #transfer<Result>(
    caller: string,
    transfer: EnterOptions & { amount: number },
    exchange: () => Promise<Result>,
  ): Promise<Result> {
    await this.#transfers.enter(caller, transfer);
    return exchange().finally(() => this.#transfers.leave(caller, transfer.amount));
  }

  /** Applies a rule to a record once. Undefined if somebody else has changed it meanwhile. */
  async #tryToChange<Result>(
    { key, caller }: Intent,
    held: Held | undefined,
    decide: Decide<Result>,
    needsRoomToGrow: boolean,
  ): Promise<Changed<Result> | undefined> {
    const reading = held ? undefined : await this.#store.read(key);
    const startedAt = performance.now();
    const basis = await this.#completeness.basis();
    const { entry, record } = held ?? toHeld(reading?.entry ?? null);
    const { next, result } = decide(record, reading?.now ?? this.#completeness.now);
    if (next === undefined) return { result };
    const isEmpty = !next.isSettled && next.writes.length === 0;
    const changed = isEmpty ? null : { version: randomUUID(), text: JSON.stringify(next) };
    const isClaim = entry === null || next.writes.length > record.writes.length;
    const length = changed?.text.length ?? 0;
    const growth = length - (entry?.text.length ?? 0);
    const needsRoom = isClaim || (growth > SMALL_GROWTH && needsRoomToGrow);
    const expects = { expected: entry?.version ?? null, needsRoom, basis };
    try {
      if (!(await this.#store.swap({ key, caller, next: changed, ...expects }))) return undefined;
      this.#completeness.used(startedAt);
      return length > LONG_RECORD ? { result } : { result, held: { entry: changed, record: next } };
    } catch (error) {
      if (!(error instanceof BasisChanged)) throw error;
      this.#completeness.invalidate();
      return undefined;
    }
  }

  /**
   * The state of a write. One that is orphaned is marked, so that it stays so. Where this process alone uses the store,
   * the senders of earlier claims have ended.
   */
  #stateOf(record: KeyRecord, write: Write, now: number): Decision<WriteState> {
    const { operation, outcome, isOrphaned = false } = write;
    if (outcome !== undefined) return { result: { state: 'recorded', outcome } };
    if (isOrphaned) return { result: { state: 'orphaned', operation, isNew: false } };
    if (write.leaseEnd > now && write.claimedAt >= this.#store.exclusiveSince) {
      return { result: { state: 'in-flight' } };
    }
    const next = withWrite(record, { ...write, isOrphaned: true });
    return { next, result: { state: 'orphaned', operation, isNew: true } };
  }
}

function writeOf({ writes }: KeyRecord, responseName: string): Write | undefined {
  return writes.find((write) => write.responseName === responseName);
}

/** The record with a write in place of the one of the same name, if there is one. */
function withWrite(record: KeyRecord, write: Write): KeyRecord {
  const { writes } = record;
  const index = writes.findIndex(({ responseName }) => responseName === write.responseName);
  return { ...record, writes: index === -1 ? [...writes, write] : writes.with(index, write) };
}

function orphan({ responseName, operation, fingerprint }: Claim, now: number): Write {
  const times = { claimedAt: now, leaseEnd: now };
  return { responseName, owner: '', operation, fingerprint, ...times, isOrphaned: true };
}

const emptyRecord: KeyRecord = { isSettled: false, writes: [] };

function toHeld(entry: Entry | null): Held {
  return { entry, record: entry ? parseText(keyRecordSchema, entry.text) : emptyRecord };
}
