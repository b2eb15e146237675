import { LRUCache } from 'lru-cache';
import type { AdmissionKey } from '../admission/gate.ts';
import type { Memory } from '../admission/memory.ts';
import type { RequestScope } from '../request-scope.ts';
import { isList, memoryOf } from './responses.ts';

/** How many calls are shared at most, in flight and kept. */
const MAX_ENTRIES = 1000;
/** What became of a read: it got a kept list, joined an equal call in flight, or started a call. */
export type ReadSource = 'kept' | 'joined' | 'sent';

/** A call that equal reads share while it is in flight, and afterwards if its list is kept. */
type Entry = {
  readonly caller: AdmissionKey;
  readonly result: Promise<unknown>;
  readonly controller: AbortController;
  /** The reads that wait for it. */
  waiting: number;
  /** The memory of a kept list. 0 while the call is in flight. */
  bytes: number;
};

/**
 * Lets equal reads share one call. Equal means the same token, forwarded headers, operation and query. A call is shared while
 * it is in flight, and its list for `keptMs` after the call began. Both end when a write of the caller is sent and when it
 * ends, so that a client never reads a list older than its own write (docs/decisions/0026).
 *
 * Kept lists use memory that nothing else holds, at most half of all, and are dropped as soon as something else needs it, the
 * least recently used first.
 */
export class ReadCache {
  readonly #keptMs: number;
  readonly #memory: Memory;
  readonly #entries: LRUCache<string, Entry>;
  /** The keys of the entries, by caller, so that a write does not visit those of others. */
  readonly #keys = new Map<string, Set<string>>();
  #bytes = 0;

  /** @param keptMs 0 keeps nothing */
  constructor(keptMs: number, memory: Memory) {
    this.#keptMs = keptMs;
    this.#memory = memory;
    this.#entries = new LRUCache({
      max: MAX_ENTRIES,
      ttlAutopurge: keptMs > 0,
      ttlResolution: 0,
      dispose: ({ bytes, caller }, key) => {
        this.#bytes -= bytes;
        const keys = this.#keys.get(caller);
        keys?.delete(key);
        if (keys?.size === 0) this.#keys.delete(caller);
      },
    });
    memory.borrower = this;
  }

  /** The memory of the kept lists. */
  get borrowed(): number {
    return this.#bytes;
  }

  /** Call when a write of a caller is sent and when it ends: later reads do not share earlier calls. */
  forget(caller: AdmissionKey): void {
    for (const key of this.#keys.get(caller) ?? []) this.#entries.delete(key);
  }

  /** Drops the least recently used lists until the others take no more memory than this. */
  shrinkTo(bytes: number): void {
    if (this.#bytes <= bytes) return;
    this.#entries.purgeStale();
    for (const key of [...this.#entries.rkeys()]) {
      if (this.#bytes <= bytes) return;
      if (this.#entries.peek(key)?.bytes) this.#entries.delete(key);
    }
  }

  /** Drops everything. */
  clear(): void {
    this.#entries.clear();
  }

  /** Gets the kept list for `key`, or joins or starts a call, which is aborted when the clients of all its reads have disconnected. */
  async read<Result>(
    key: string,
    { caller, signal }: Pick<RequestScope, 'caller' | 'signal'>,
    call: (controller: AbortController) => Promise<Result>,
    onSource: (source: ReadSource) => void,
  ): Promise<Result> {
    const known = this.#entries.get(key);
    const isKept = known !== undefined && known.bytes > 0;
    onSource(known ? (isKept ? 'kept' : 'joined') : 'sent');
    const entry = known ?? this.#start(key, caller.admissionKey, call);
    // Equal keys name the same operation, so the result has the same type.
    const result = entry.result as Promise<Result>;
    if (isKept) return result;
    entry.waiting += 1;
    const leave = () => {
      entry.waiting -= 1;
      if (entry.waiting > 0) return;
      this.#drop(key, entry);
      entry.controller.abort('client disconnected');
    };
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    try {
      return await result;
    } finally {
      signal.removeEventListener('abort', leave);
    }
  }

  #start(
    key: string,
    caller: AdmissionKey,
    call: (controller: AbortController) => Promise<unknown>,
  ): Entry {
    const controller = new AbortController();
    const startedAt = performance.now();
    const entry = { caller, result: call(controller), controller, waiting: 0, bytes: 0 };
    this.#entries.set(key, entry);
    const keys = this.#keys.get(caller) ?? new Set();
    this.#keys.set(caller, keys.add(key));
    entry.result.then(
      (result) => {
        const ttl = this.#keptMs - (performance.now() - startedAt);
        const isKept = ttl > 0 && isList(result) && this.#keep(key, entry, result, ttl);
        if (!isKept) this.#drop(key, entry);
      },
      () => this.#drop(key, entry),
    );
    return entry;
  }

  /** Keeps the list of a call. Returns false if there is no memory for it, or if a write has ended its sharing. */
  #keep(key: string, entry: Entry, list: object, ttl: number): boolean {
    const bytes = memoryOf(list);
    const most = Math.min(this.#memory.free, this.#memory.limit / 2);
    if (bytes > most || this.#entries.peek(key) !== entry) return false;
    this.shrinkTo(most - bytes);
    entry.bytes = bytes;
    this.#bytes += bytes;
    this.#entries.set(key, entry, { ttl });
    return true;
  }

  #drop(key: string, entry: Entry): void {
    if (this.#entries.peek(key) === entry) this.#entries.delete(key);
  }
}
