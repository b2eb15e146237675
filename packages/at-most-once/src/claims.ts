import { z } from 'zod';
import type { Completeness } from './completeness.ts';
import type { Intent } from './intent.ts';
import { KeyRejected } from './key-rejected.ts';
import type { Limiter } from './limiter.ts';
import { type Entry, type IdempotencyStore, parseText, StoreUnavailable } from './store.ts';

/** A claim on a key for one write. */
export type Claim = Intent & {
  /** Names the write among those of its key. */
  responseName: string;
  /** What the write does. `orphaned` names it. */
  operation: string;
  /** A random token that identifies this claim. */
  owner: string;
  /** A hash of the write, to recognize a key that is reused for another one. */
  fingerprint: string;
  /** Milliseconds after which an unfinished claim is orphaned. Shorter than the retention. */
  leaseMs: number;
};

/** What became of a write that an earlier request has executed, or may have. */
export type WriteState =
  /** Another owner holds the key, and its lease has not ended. */
  | { state: 'in-flight' }
  /** The lease ended without an outcome, or the store may have lost the claim. Only an outcome can follow. */
  | { state: 'orphaned'; operation: string; isNew: boolean }
  /** Final. */
  | { state: 'recorded'; outcome: unknown };

/** A key as this process last saw it, so that its next change need not read it. */
export type SeenKey = { readonly entry: Entry | null; readonly content: KeyContent };

/** The result of a claim. `claimed`: the key was free, and the write may be sent. */
type ClaimResult = { state: 'claimed' } | WriteState;

/** How long a change may wait for other changes, and be repeated because of them, in milliseconds. */
const MAX_WAIT_MS = 5000;

/** What became of the fields that were executed with a key. */
export type Settlement = {
  writes: (WriteState & { responseName: string })[];
  /** Whether nothing else can have been executed. */
  isComplete: boolean;
};

const writeSchema = z.object({
  responseName: z.string(),
  /** The owner of the claim. Empty if the store may have lost the claim. */
  owner: z.string(),
  operation: z.string(),
  fingerprint: z.string(),
  /** In the time of the store. */
  claimedAt: z.number(),
  leaseEnd: z.number(),
  isOrphaned: z.boolean().optional(),
  /** The write was reported as orphaned before its sender reported that it was not sent. It will never be sent. */
  isReleased: z.boolean().optional(),
  outcome: z.unknown().optional(),
});
type Write = z.infer<typeof writeSchema>;

/** What the entry of a key says, in JSON. */
const keyContentSchema = z.object({
  isSettled: z.boolean(),
  /** Whether a settlement has found that nothing but these writes can have been executed. */
  isComplete: z.boolean(),
  writes: z.array(writeSchema),
  /** A released claim may still be on its way to the store, which would accept it if the key had no entry. */
  isReplaced: z.boolean().optional(),
});
type KeyContent = z.infer<typeof keyContentSchema>;

/** What a rule decides about a key: what to store, if that changes, and the result. */
type Decision<Result> = { next?: KeyContent; result: Result };
type Decide<Result> = (content: KeyContent, now: number) => Decision<Result>;

type Rules = {
  maxWritesPerKey: number;
  /** Whether the store has failed a moment ago. */
  isFailing(): boolean;
  limiter: Limiter;
};

/**
 * The rules of claims, for any store. A key has one entry for all its root fields. Each rule reads the entry and replaces
 * it, unless somebody else has replaced it in between. A claim is never taken over. Before a write is reported as orphaned,
 * this is stored, and from then on the owner of the claim cannot free the key.
 */
export class Claims {
  readonly #store: IdempotencyStore;
  readonly #completeness: Completeness;
  readonly #rules: Rules;

  constructor(store: IdempotencyStore, completeness: Completeness, rules: Rules) {
    this.#store = store;
    this.#completeness = completeness;
    this.#rules = rules;
  }

  /**
   * Claims a key. After `ReplyLost`, the key must be released: the store may have made the claim, or may still make it.
   *
   * @throws KeyRejected, StoreUnavailable
   */
  claim(claim: Claim): Promise<{ result: ClaimResult; seen: SeenKey }> {
    const decide: Decide<ClaimResult> = (content, now) => {
      const write = writeOf(content, claim);
      if (write === undefined) return this.#claimNew(content, claim, now);
      if (write.fingerprint !== claim.fingerprint) throw new KeyRejected('reused');
      if (write.isReleased) throw new KeyRejected('settled');
      return this.#stateOf(content, write, now);
    };
    // Most keys are new, so the first attempt does not read. That of a repeat does, because its entry may expire before the
    // change is made.
    const isNew = !claim.ageMs && this.#completeness.judge(claim) === 'new';
    return this.#change(claim, decide, { seen: isNew ? toSeen(null) : undefined });
  }

  /** The rule for a write that a key does not have yet. */
  #claimNew(content: KeyContent, claim: Claim, now: number): Decision<ClaimResult> {
    if (content.isComplete) throw new KeyRejected('settled');
    if (content.writes.length >= this.#rules.maxWritesPerKey) throw new KeyRejected('overused');
    const verdict = content.isSettled ? 'forgotten' : this.#completeness.judge(claim);
    if (verdict === 'quarantine') throw new StoreUnavailable(this.#completeness.rejectionReason);
    if (verdict === 'new') {
      return { next: withWrite(content, newWrite(claim, now)), result: { state: 'claimed' } };
    }
    return this.#stateOf(content, lostWrite(claim, now), now);
  }

  /** Stores the outcome of a claim, also after its lease. `seen` is the key as the claim has left it. */
  record(claim: Claim, outcome: unknown, seen?: SeenKey): Promise<unknown> {
    const decide: Decide<void> = (content, now) => {
      // The store has lost the claim if it has no write of this name, or one without an owner.
      const write = writeOf(content, claim) ?? lostWrite(claim, now);
      const isLost = write.owner === '' && write.fingerprint === claim.fingerprint;
      const isOwn = write.owner === claim.owner || isLost;
      if (!isOwn || write.outcome !== undefined) return { result: undefined };
      return { next: withWrite(content, { ...write, outcome }), result: undefined };
    };
    return this.#change(claim, decide, { seen, isUrgent: true });
  }

  /**
   * Frees a key whose write was not sent, or was refused by the service, also after its lease. If the write was reported as
   * orphaned, the key stays closed for it, because the client may have sent the write with another key since. If the entry
   * does not have the claim, the entry is replaced, so that the store does not accept a claim that is still on its way.
   */
  release(claim: Claim, seen?: SeenKey): Promise<unknown> {
    const decide: Decide<void> = (content) => {
      const write = writeOf(content, claim);
      const replaced = { ...content, isReplaced: true };
      if (write === undefined) return { next: replaced, result: undefined };
      if (write.outcome !== undefined) return { result: undefined };
      if (write.owner !== claim.owner) {
        return { ...(!content.isReplaced && { next: replaced }), result: undefined };
      }
      if (write.isOrphaned) {
        return { next: withWrite(content, { ...write, isReleased: true }), result: undefined };
      }
      const writes = content.writes.filter((one) => one !== write);
      return { next: { ...content, writes }, result: undefined };
    };
    return this.#change(claim, decide, { seen, isUrgent: true });
  }

  /** Closes a key for the fields that have no claim, and returns the others. */
  async settle(of: Intent): Promise<Settlement> {
    const decide: Decide<Settlement> = (content, now) => {
      const isComplete = this.#completeness.knows(of);
      // What a settlement has found stays true as long as the entry exists.
      const isKnown = content.isSettled && (content.isComplete || !isComplete);
      let next = isKnown ? content : { ...content, isSettled: true, isComplete };
      const writes = content.writes.flatMap((write) => {
        if (write.isReleased) return [];
        const state = this.#stateOf(next, write, now);
        next = state.next ?? next;
        return { responseName: write.responseName, ...state.result };
      });
      // Without a change, nothing is stored: hundreds of settlements of one key would rewrite it one after another.
      return { ...(next !== content && { next }), result: { writes, isComplete } };
    };
    return (await this.#change(of, decide)).result;
  }

  /**
   * Applies a rule to a key: first to `seen`, if it is given, and then to what the store has, until nobody else changes the
   * key in between. Outcomes are urgent, because repeats wait for them.
   */
  async #change<Result>(
    of: Intent,
    decide: Decide<Result>,
    { seen, isUrgent = false }: { seen?: SeenKey | undefined; isUrgent?: boolean } = {},
  ): Promise<{ result: Result; seen: SeenKey }> {
    const since = performance.now();
    const { key, caller } = of;
    const { limiter } = this.#rules;
    for (let first = seen; ; first = undefined) {
      if (!limiter.tryEnter(caller)) await limiter.enter(caller, { isUrgent });
      try {
        const basis = this.#completeness.basis ?? (await this.#completeness.findBasis());
        const reading = first ? undefined : await this.#store.read(key);
        const startedAt = performance.now();
        const current = first ?? toSeen(reading?.entry ?? null);
        const { entry, content } = current;
        const { next, result } = decide(content, reading?.now ?? this.#completeness.now);
        if (next === undefined) return { result, seen: current };
        const isFree = !next.isReplaced && !next.isSettled && next.writes.length === 0;
        const changed = isFree ? null : { version: newVersion(), text: JSON.stringify(next) };
        const isNewKey = entry === null && next.isSettled;
        const needsRoom = isNewKey || next.writes.length > content.writes.length;
        const expects = { expected: entry?.version ?? null, needsRoom, basis };
        const swap = await this.#store.swap({ key, caller, next: changed, ...expects });
        this.#completeness.note(swap, startedAt);
        if (swap === 'swapped') return { result, seen: { entry: changed, content: next } };
      } finally {
        limiter.leave(caller);
      }
      if (performance.now() > since + MAX_WAIT_MS) throw new StoreUnavailable('busy');
    }
  }

  /**
   * The state of a write. A write whose lease has ended is marked as orphaned, and stays so. While the store fails, it is
   * not, because its sender may have an outcome that it cannot store yet. Where this process alone uses the store, the
   * senders of claims from before its start have ended, so these writes are orphaned at once.
   */
  #stateOf(content: KeyContent, write: Write, now: number): Decision<WriteState> {
    const { operation, outcome } = write;
    if (outcome !== undefined) return { result: { state: 'recorded', outcome } };
    if (write.isOrphaned) return { result: { state: 'orphaned', operation, isNew: false } };
    const isHeld = !hasLeaseEnded(write, now) || this.#rules.isFailing();
    if (isHeld && write.claimedAt >= (this.#store.exclusiveSince ?? 0)) {
      return { result: { state: 'in-flight' } };
    }
    const next = withWrite(content, { ...write, isOrphaned: true });
    return { next, result: { state: 'orphaned', operation, isNew: true } };
  }
}

const versionStart = crypto.randomUUID();
let versions = 0;

/** A version that no other change has, in any process. All versions of a process share their beginning in memory. */
function newVersion(): string {
  versions += 1;
  return `${versionStart}-${versions}`;
}

/** Whether a lease has ended. The clock of the store may be set back, so the time between claim and now counts in both directions. */
function hasLeaseEnded({ claimedAt, leaseEnd }: Write, now: number): boolean {
  return Math.abs(now - claimedAt) >= leaseEnd - claimedAt;
}

function writeOf({ writes }: KeyContent, { responseName }: Claim): Write | undefined {
  return writes.find((write) => write.responseName === responseName);
}

/** Adds a write, or replaces the one with the same response name. */
function withWrite(content: KeyContent, write: Write): KeyContent {
  const { writes } = content;
  const index = writes.findIndex(({ responseName }) => responseName === write.responseName);
  return { ...content, writes: index === -1 ? [...writes, write] : writes.with(index, write) };
}

function newWrite(claim: Claim, now: number): Write {
  const { responseName, owner, operation, fingerprint } = claim;
  const times = { claimedAt: now, leaseEnd: now + claim.leaseMs };
  return { responseName, owner, operation, fingerprint, ...times };
}

/** The write of a claim that the store may have lost. */
function lostWrite(claim: Claim, now: number): Write {
  return { ...newWrite(claim, now), owner: '', leaseEnd: now };
}

function toSeen(entry: Entry | null): SeenKey {
  if (entry) return { entry, content: parseText(keyContentSchema, entry.text) };
  return { entry, content: { isSettled: false, isComplete: false, writes: [] } };
}
