import { type Claim, Claims, type SeenKey, type Settlement, type WriteState } from './claims.ts';
import { Completeness } from './completeness.ts';
import type { Intent } from './intent.ts';
import { KeyRejected } from './key-rejected.ts';
import { type Limiter, unlimited } from './limiter.ts';
import { type OpenWrite, OpenWrites } from './open-writes.ts';
import { pollAgain } from './poll.ts';
import {
  type IdempotencyStore,
  ReplyLost,
  type StoreLog,
  StoreUnavailable,
  type Usage,
} from './store.ts';
import { createStoreWatch, type StoreWatch } from './store-watch.ts';

/** After its timeout, the sender of a write needs some time to record the outcome, in milliseconds. */
const RECORDING_MS = 5000;

/** What the store is used for. */
export type StoreUse = 'claim' | 'record' | 'release' | 'settle';

export type Options = {
  /** The timeout of a write, and of a request that waits for an earlier one, in milliseconds. */
  timeoutMs: number;
  /** For how long outcomes are kept, in milliseconds: at least an hour, a day by default. */
  retentionMs: number;
  /** For how long keys without an age are rejected after a loss of records, in milliseconds: two minutes by default. */
  quarantineMs: number;
  /** How many writes a key may have: one by default. */
  maxWritesPerKey: number;
  /** How long `close` still tries to record outcomes, in milliseconds: ten seconds by default. */
  closeMs: number;
  /** Gets a line for each change of the state of the store. */
  log?: StoreLog;
  limiter?: Limiter;
  /** Whether an error of `execute` proves that the write had no effect, so that the key is free again. By default, none does. */
  isWithoutEffect?: (error: unknown) => boolean;
  /** Called when a use of the store on behalf of a caller begins. Returns what is called when it ends, with its error if it failed. */
  observe?: (use: StoreUse) => (error?: unknown) => void;
};

/** A write, which is executed at most once with its key. */
export type Write = Intent &
  Pick<Claim, 'responseName' | 'operation' | 'fingerprint'> & {
    /** Ends the wait for an earlier request. */
    signal?: AbortSignal;
    /** Called once if the write waits for an earlier request. */
    onWait?: () => void;
  };

/** What became of a write. `executed`: this request has executed it. In all other states, an earlier one has, or may have. */
export type WriteResult<Value> = { state: 'executed'; value: Value } | WriteState;

/** What `execute` returns, and what repeats get of it. The record must survive JSON. */
export type Executed<Value> = { value: Value; record: unknown };

/**
 * Executes each write at most once, however often it is repeated and whatever fails. The claim is stored before the write is
 * executed, and its outcome after that. A repeat gets the recorded outcome.
 */
export class AtMostOnce {
  readonly #store: IdempotencyStore;
  readonly #options: Options;
  readonly #watch: StoreWatch;
  readonly #completeness: Completeness;
  readonly #claims: Claims;
  readonly #openWrites: OpenWrites;

  constructor(store: IdempotencyStore, options: Options) {
    const { retentionMs, quarantineMs, maxWritesPerKey, closeMs } = options;
    const { log = silent, limiter = unlimited } = options;
    this.#store = store;
    this.#options = options;
    this.#watch = createStoreWatch(log);
    const watch = this.#watch;
    this.#completeness = new Completeness({ store, retentionMs, quarantineMs, log, watch });
    const rules = { maxWritesPerKey, isFailing: watch.isFailing, limiter };
    this.#claims = new Claims(store, this.#completeness, rules);
    this.#openWrites = new OpenWrites(log, closeMs);
  }

  /** How full the store is. Undefined while it cannot be used. */
  get usage(): Usage | undefined {
    return this.#store.usage;
  }

  /** Whether the store takes claims: false until nothing has failed for ten seconds. */
  get isUp(): boolean {
    return this.usage !== undefined && !this.#watch.isFailing();
  }

  /**
   * Executes a write if its key is free, or else waits for the outcome of the request that holds the key.
   *
   * @throws what `execute` throws; and `KeyRejected` or `StoreUnavailable` if this request has not executed it
   */
  async run<Value>(
    write: Write,
    execute: () => Promise<Executed<Value>>,
  ): Promise<WriteResult<Value>> {
    const { timeoutMs } = this.#options;
    const { signal, onWait, ...rest } = write;
    const claim: Claim = {
      ...rest,
      owner: crypto.randomUUID(),
      leaseMs: timeoutMs + RECORDING_MS,
    };
    const deadline = performance.now() + timeoutMs;
    const first = await this.#attempt(claim, execute);
    if (first !== null) return first;
    onWait?.();
    const again = () => this.#attempt(claim, execute);
    const result = await pollAgain(again, deadline, signal).catch((error: unknown) => {
      // The request that holds the key may have taken effect, so the result must not be an error.
      if (error instanceof StoreUnavailable) return null;
      throw error;
    });
    return result ?? { state: 'in-flight' };
  }

  /**
   * Closes a key: returns what became of its writes, and makes sure that no other write is executed with it. Executes nothing.
   * Waits for writes in flight as a repeat does.
   *
   * @throws StoreUnavailable
   */
  async settle(intent: Intent, signal?: AbortSignal): Promise<Settlement> {
    const deadline = performance.now() + this.#options.timeoutMs;
    const newlyOrphaned = new Set<string>();
    const settle = async (): Promise<Settlement> => {
      const settling = this.#claims.settle(intent);
      const { writes, isComplete } = await this.#use('settle', intent.caller, settling);
      const known = new Map(writes.map((write) => [write.responseName, write]));
      // This process knows the outcomes of its own writes before the store has them, and even if the store has lost their claims.
      for (const open of this.#openWrites.of(intent.key)) {
        const { responseName } = open.claim;
        known.set(responseName, { responseName, ...(stateOf(open) ?? { state: 'in-flight' }) });
      }
      for (const write of known.values()) {
        if (write.state !== 'orphaned') continue;
        if (write.isNew) newlyOrphaned.add(write.responseName);
        // It stays new until the caller of this function has heard of it.
        write.isNew = newlyOrphaned.has(write.responseName);
      }
      return { writes: [...known.values()], isComplete };
    };
    let settled = await settle();
    const isOver = () => settled.writes.every(({ state }) => state !== 'in-flight');
    const again = async () => {
      settled = await settle();
      return isOver() || null;
    };
    // The first attempt has closed the key, so the client must learn what is known.
    if (!isOver()) await pollAgain(again, deadline, signal).catch(() => {});
    return settled;
  }

  /** Updates the store with what it does not have yet, and closes it. */
  async close(): Promise<void> {
    this.#completeness.close();
    await this.#openWrites.close();
    await this.#store.close();
  }

  /** Claims the key and executes the write, or returns the state of the request that holds it. Null while that is in flight. */
  async #attempt<Value>(
    claim: Claim,
    execute: () => Promise<Executed<Value>>,
  ): Promise<WriteResult<Value> | null> {
    // The same write of this process.
    const own = this.#openWrites.find(claim);
    if (own && own.claim.fingerprint !== claim.fingerprint) throw new KeyRejected('reused');
    if (own) return stateOf(own);
    const claiming = this.#use('claim', claim.caller, this.#claims.claim(claim));
    const { result, seen } = await claiming.catch((error: unknown) => {
      if (error instanceof ReplyLost) void this.#release(claim);
      throw error;
    });
    if (result.state === 'claimed') return this.#execute(claim, seen, execute);
    return result.state === 'in-flight' ? null : result;
  }

  /** Executes a claimed write. Until the store has the outcome, repeats get it from `#openWrites`. */
  async #execute<Value>(
    claim: Claim,
    seen: SeenKey,
    execute: () => Promise<Executed<Value>>,
  ): Promise<WriteResult<Value>> {
    const open = this.#openWrites.begin(claim);
    const { value, record } = await execute().catch(async (error: unknown) => {
      if (this.#options.isWithoutEffect?.(error)) await this.#release(claim, seen);
      this.#openWrites.end(open);
      throw error;
    });
    open.record = { outcome: record };
    const recording = () =>
      this.#use('record', claim.caller, this.#claims.record(claim, record, seen));
    await this.#openWrites.update(claim.caller, recording, open);
    return { state: 'executed', value };
  }

  #release(claim: Claim, seen?: SeenKey): Promise<void> {
    const release = () => this.#use('release', claim.caller, this.#claims.release(claim, seen));
    return this.#openWrites.update(claim.caller, release);
  }

  /** Waits for a use of the store on behalf of a caller, and notes how it ends. */
  async #use<Result>(use: StoreUse, caller: string, running: Promise<Result>): Promise<Result> {
    const end = this.#options.observe?.(use);
    try {
      const result = await running;
      this.#watch.succeeded();
      end?.();
      return result;
    } catch (error) {
      this.#watch.failed(error, caller);
      end?.(error);
      throw error;
    }
  }
}

/** The outcome of a write of this process. Null while it is in flight. */
function stateOf({ record }: OpenWrite): WriteState | null {
  return record ? { state: 'recorded', outcome: record.outcome } : null;
}

const silent: StoreLog = { info() {}, warn() {}, error() {} };
