import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { BackgroundRetry, RETRY_FOR_MS } from './background-retry.ts';
import { RedisConnection } from './redis-connection.ts';
import {
  checkScript,
  claimScript,
  epochScript,
  recordScript,
  releaseScript,
} from './redis-scripts.ts';
import { type RedisSession, ReplyLost } from './redis-session.ts';
import {
  type Claim,
  type ClaimResult,
  type IdempotencyStore,
  type StoreLog,
  StoreUnavailable,
} from './store.ts';

/** One hash tag, so that a script may use both keys on a clustered server. */
const PREFIX = '{ledger-gateway}:';
const EPOCH_KEY = `${PREFIX}epoch`;
/** A register outlives its process by this time. After a longer outage, a process must be restarted. */
const REGISTER_LIFETIME_MS = 7 * 24 * 3_600_000;

const claimReplySchema = z.union([
  z.tuple([z.literal('claimed'), z.number()]),
  z.tuple([z.enum(['in-flight', 'orphaned']), z.string()]),
  z.tuple([z.literal('recorded'), z.string(), z.string()]),
  z.tuple([z.enum(['cancelled', 'data_lost'])]),
]);

type RedisStoreOptions = { url: string; retentionMs: number; log: StoreLog };

/**
 * Keeps claims in Redis or Valkey, for several gateways. Every operation is one script that is sent at most
 * once. The store connects in the background, and a call without a connection fails at once.
 */
export class RedisStore implements IdempotencyStore {
  readonly #retentionMs: number;
  readonly #connection: RedisConnection;
  readonly #retry: BackgroundRetry;
  /** Owners of claims without a reply, until their keys are free. */
  readonly #cancelling = new Set<string>();
  readonly #registerKey = `${PREFIX}register:${randomUUID()}`;
  #epoch: string | undefined;
  /** The claims of this process that Redis has confirmed. */
  #claimsMade = 0;
  #isDataLost = false;

  /** @throws Error if the URL cannot be used */
  constructor({ url, retentionMs, log }: RedisStoreOptions) {
    this.#retentionMs = retentionMs;
    const check = async (session: RedisSession) => {
      await rejectEviction(session);
      await this.#checkEpoch(session);
    };
    this.#connection = new RedisConnection({ url, log, check });
    this.#retry = new BackgroundRetry(log);
  }

  async claim({ key, owner, fingerprint, leaseMs }: Claim): Promise<ClaimResult> {
    if (this.#isDataLost) throw new StoreUnavailable('data_lost');
    if (this.#cancelling.has(owner)) throw new StoreUnavailable('unreachable');
    const args = [owner, fingerprint, leaseMs, this.#retentionMs, this.#epoch, this.#claimsMade];
    try {
      const keys = [keyOf(key), EPOCH_KEY, this.#registerKey, markOf(owner)];
      const reply = await this.#connection.run(claimScript, keys, args.map(String));
      return this.#resultOf(reply);
    } catch (error) {
      if (error instanceof ReplyLost) this.#cancel(key, owner);
      throw error;
    }
  }

  async record(key: string, owner: string, outcome: string): Promise<void> {
    const record = () => this.#connection.run(recordScript, [keyOf(key)], [owner, outcome]);
    await this.#retry.run(record, Buffer.byteLength(outcome));
  }

  async release(key: string, owner: string): Promise<void> {
    await this.#retry.run(() => this.#release(key, owner));
  }

  /** Tries pending background work one last time, then disconnects. */
  async close(): Promise<void> {
    await this.#retry.close();
    await this.#connection.close();
  }

  async #release(key: string, owner: string): Promise<void> {
    const keys = [keyOf(key), markOf(owner)];
    await this.#connection.run(releaseScript, keys, [owner, String(RETRY_FOR_MS)]);
  }

  /** Frees the key of a claim whose reply was lost. */
  #cancel(key: string, owner: string): void {
    this.#cancelling.add(owner);
    const released = this.#retry.start(() => this.#release(key, owner));
    void released.then(() => this.#cancelling.delete(owner));
  }

  async #checkEpoch(session: RedisSession): Promise<void> {
    if (this.#isDataLost) return;
    const keys = [EPOCH_KEY, this.#registerKey];
    const lifetime = String(REGISTER_LIFETIME_MS);
    if (this.#epoch === undefined) {
      this.#epoch = z
        .string()
        .parse(await session.run(epochScript, keys, [randomUUID(), lifetime]));
      return;
    }
    const args = [this.#epoch, String(this.#claimsMade), lifetime];
    if ((await session.run(checkScript, keys, args)) === 'data_lost') this.#dataLost();
  }

  #resultOf(data: unknown): ClaimResult {
    const { data: reply } = claimReplySchema.safeParse(data);
    if (reply === undefined) throw new StoreUnavailable('corrupt'); // Another program wrote the claim.
    switch (reply[0]) {
      case 'claimed':
        this.#claimsMade = Math.max(this.#claimsMade, reply[1]);
        return { state: 'claimed' };
      case 'recorded':
        return { state: 'recorded', fingerprint: reply[1], outcome: reply[2] };
      case 'data_lost':
        throw this.#dataLost();
      case 'cancelled':
        throw new StoreUnavailable('unreachable');
      case 'orphaned':
        // The owner may have lost Redis as well, and may be about to record the outcome.
        return {
          state: this.#connection.isCatchingUp ? 'in-flight' : 'orphaned',
          fingerprint: reply[1],
        };
      case 'in-flight':
        return { state: 'in-flight', fingerprint: reply[1] };
    }
  }

  #dataLost(): StoreUnavailable {
    const failure = new StoreUnavailable(
      'data_lost',
      'Redis has lost claims of idempotency keys. Keyed writes are refused until this process is restarted',
    );
    if (!this.#isDataLost) this.#connection.report(failure);
    this.#isDataLost = true;
    return failure;
  }
}

function keyOf(key: string): string {
  return `${PREFIX}claim:${key}`;
}

function markOf(owner: string): string {
  return `${PREFIX}cancelled:${owner}`;
}

/** A policy that evicts keys would let a write be sent twice. */
async function rejectEviction(session: RedisSession): Promise<void> {
  const info = z.string().parse(await session.command(['INFO', 'memory']));
  const maxMemory = Number(/^maxmemory:(\d+)/m.exec(info)?.[1] ?? 0);
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'noeviction';
  if (maxMemory === 0 || policy === 'noeviction') return;
  throw new StoreUnavailable(
    'evicting',
    `Redis would evict idempotency keys: set its maxmemory-policy to noeviction (it is ${policy})`,
  );
}
