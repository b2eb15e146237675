import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { createLineLimit } from '../telemetry/line-limit.ts';

/** The time to connect, and for each count, in milliseconds. Then the process counts by itself. */
const TIMEOUT_MS = 1000;

const MINUTE_MS = 60_000;
/** A count of writes has no limit of its own: each rule of a policy has one. The duration is in seconds. */
const counterOptions = { duration: MINUTE_MS / 1000, points: Number.MAX_SAFE_INTEGER };

/** The writes since the minute of a key began, and when that ends, in milliseconds. */
type Count = { writes: number; endsInMs: number };

/** Counts the writes of all processes that use the same server, on connections of its own. */
type SharedCounter = { limiter: Pick<RateLimiterAbstract, 'consume'>; close(): unknown };

/** Resolves when a use of the server is late. */
const late = () => sleep(TIMEOUT_MS, null, { ref: false });

/**
 * Counts the writes of callers, for all processes that share a server. While that fails, this process counts by itself. The writes
 * of an iteration of the event loop are counted together.
 */
export class WriteCount {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #mayLog = createLineLimit(1, 60_000);
  readonly #connect: (() => Promise<SharedCounter>) | undefined;
  /** The counts of this process, which end by themselves. */
  readonly #own = new LRUCache<string, { writes: number }>({
    ttl: MINUTE_MS,
    ttlAutopurge: true,
    ttlResolution: 0,
  });
  /** The writes of this iteration, by key. */
  readonly #batches = new Map<string, { writes: number; counted: Promise<Count> }>();
  #shared: Promise<SharedCounter> | undefined;

  /** @param connect connects to the server that processes share. It is called at the first count. */
  constructor(log: Pick<Logger, 'warn'>, connect?: () => Promise<SharedCounter>) {
    this.#log = log;
    this.#connect = connect;
  }

  /** Counts a write. Returns a promise if processes share a server. */
  count(key: string): Count | Promise<Count> {
    if (!this.#connect) return this.#countOwn(key, 1);
    const batch = this.#batches.get(key) ?? this.#beginBatch(key, this.#connect);
    batch.writes += 1;
    const rank = batch.writes;
    const before = (all: Count) => all.writes - batch.writes;
    return batch.counted.then((all) => ({ writes: before(all) + rank, endsInMs: all.endsInMs }));
  }

  async close(): Promise<void> {
    const closed = this.#shared?.then(
      (counter) => counter.close(),
      () => {},
    );
    await Promise.race([closed, late()]); // A server that hangs does not delay the end.
  }

  #countOwn(key: string, more: number): Count {
    const count = this.#own.get(key) ?? { writes: 0 };
    if (count.writes === 0) this.#own.set(key, count);
    count.writes += more;
    return { writes: count.writes, endsInMs: this.#own.getRemainingTTL(key) };
  }

  #beginBatch(key: string, connect: () => Promise<SharedCounter>) {
    const batch = { writes: 0, counted: immediate().then(() => this.#countShared(key, connect)) };
    this.#batches.set(key, batch);
    return batch;
  }

  /** Counts the writes of an iteration. */
  async #countShared(key: string, connect: () => Promise<SharedCounter>): Promise<Count> {
    const { writes = 0 } = this.#batches.get(key) ?? {};
    this.#batches.delete(key);
    try {
      this.#shared ??= connect();
      const counting = this.#shared.then(({ limiter }) => limiter.consume(key, writes));
      const counted = await Promise.race([counting, late()]);
      if (counted === null) throw new Error('timeout');
      return { writes: counted.consumedPoints, endsInMs: counted.msBeforeNext };
    } catch (error) {
      const line =
        'cannot count writes in the store of idempotency keys: this process counts by itself';
      // The message of an error of the network may hold the address.
      const { code, message }: { code?: unknown; message?: unknown } = Object(error);
      if (this.#mayLog()) this.#log.warn({ fault: code ?? message }, line);
      return this.#countOwn(key, writes);
    }
  }
}

/** Returns what connects to the server of IDEMPOTENCY_STORE, to count writes there. Undefined if processes do not share the store. */
export function sharedCounterIn(store: string): (() => Promise<SharedCounter>) | undefined {
  if (/^rediss?:/.test(store)) return () => countInRedis(store);
  return /^postgres(ql)?:/.test(store) ? () => countInPostgres(store) : undefined;
}

/**
 * Counts writes with the commands that the store of keys uses, which are all that its user may have. Returns the count, and
 * when it ends, in milliseconds. KEYS: the count. ARGV: what to add, and how long a count lasts, in seconds.
 */
const countScript = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local writes = redis.call('HINCRBY', KEYS[1], 'writes', ARGV[1])
  if writes == tonumber(ARGV[1]) then
    redis.call('HSET', KEYS[1], 'end', now + ARGV[2] * 1000)
    redis.call('PEXPIRE', KEYS[1], ARGV[2] * 1000)
  end
  return { writes, redis.call('HMGET', KEYS[1], 'end')[1] - now }`;

async function countInRedis(url: string): Promise<SharedCounter> {
  const [{ createClient }, { RateLimiterRedis }] = await Promise.all([
    import('@redis/client'),
    import('rate-limiter-flexible'),
  ]);
  const client = createClient({
    url,
    socket: { connectTimeout: TIMEOUT_MS },
    disableOfflineQueue: true,
    RESP: 2, // Every Redis, Valkey and proxy speaks it.
    maintNotifications: 'disabled',
  });
  client.on('error', () => {}); // A count without a connection fails.
  await Promise.race([client.connect().catch(() => {}), late()]);
  const limiter = new RateLimiterRedis({
    ...counterOptions,
    keyPrefix: '{ledger-gateway}:writes',
    customIncrTtlLuaScript: countScript,
    useRedisPackage: true,
    storeClient: client,
  });
  return { limiter, close: () => client.destroy() };
}

/** Creates the table of the counts. If the role may not do this, the log asks an administrator to execute it. */
const TABLE = `CREATE TABLE IF NOT EXISTS ledger_gateway_write_count (
  key text PRIMARY KEY,
  points integer NOT NULL,
  expire bigint
)`;

async function countInPostgres(url: string): Promise<SharedCounter> {
  const [{ RateLimiterPostgres }, { PostgresConnections }] = await Promise.all([
    import('rate-limiter-flexible'),
    import('@ledger-gateway/at-most-once/postgres-connections'),
  ]);
  const connections = new PostgresConnections(url, TABLE, 2);
  const limiter = new RateLimiterPostgres({
    ...counterOptions,
    tableName: 'ledger_gateway_write_count',
    tableCreated: true,
    storeType: 'pool',
    // Without the names of the statements, because a pooler may not keep prepared ones.
    storeClient: {
      query: (one: { text: string; values: unknown[] }) =>
        connections.execute(one.text, one.values),
    },
  });
  return { limiter, close: () => connections.close() };
}
