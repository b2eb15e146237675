import { z } from 'zod';
import { RedisConnection, type RedisSession, script } from './redis-connection.ts';
import {
  BasisChanged,
  type Change,
  COMPLETENESS_KEY,
  type IdempotencyStore,
  type Reading,
  ReplyLost,
  StoreUnavailable,
  type Usage,
} from './store.ts';

/** One hash tag, so that a script may use both keys on a clustered server. */
const PREFIX = '{ledger-gateway}:';
const CHECK_INTERVAL_MS = 2000;
/** How long other gateways may take to notice a new server: they check every 2 seconds. */
const OBJECTION_MS = 5000;
/** How long a replica may take to confirm a change. */
const REPLICA_TIMEOUT_MS = 500;

/** Returns version, text, and the time in seconds and microseconds. KEYS: the key. */
const readScript = script(`
  local version, text = unpack(redis.call('HMGET', KEYS[1], 'version', 'text'))
  local time = redis.call('TIME')
  return { version or '', text or '', time[1], time[2] }`);

/**
 * Replaces a record. Returns `swapped`, `other` if the key has another version, or `basis`. It frees before it writes:
 * a full server then accepts a record that replaces another.
 * KEYS: the key, the record of completeness. ARGV: version to replace or '', new version or '', text, retention (ms) or
 * '', version of the record of completeness or ''.
 */
const swapScript = script(`
  if ARGV[5] ~= '' and redis.call('HGET', KEYS[2], 'version') ~= ARGV[5] then return 'basis' end
  if (redis.call('HGET', KEYS[1], 'version') or '') ~= ARGV[1] then return 'other' end
  if ARGV[1] ~= '' then redis.call('DEL', KEYS[1]) end
  if ARGV[2] == '' then return 'swapped' end
  redis.call('HSET', KEYS[1], 'version', ARGV[2], 'text', ARGV[3])
  if ARGV[4] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
  return 'swapped'`);

const readReplySchema = z.tuple([z.string(), z.string(), z.string(), z.string()]);
const swapReplySchema = z.enum(['swapped', 'other', 'basis']);

/** What the server says about itself. */
type ServerInfo = { serverId: string; hasReplicas: boolean; usage: Usage };

/**
 * Keeps keys in Redis or Valkey, for several gateways. Every operation is one script that is sent at most once. The
 * store connects in the background, and a call without a connection fails at once. Where the server has replicas, a
 * change counts only when one of them has it.
 */
export class RedisStore implements IdempotencyStore {
  readonly objectionMs = OBJECTION_MS;
  readonly #retentionMs: number;
  readonly #connection: RedisConnection;
  readonly #timer: NodeJS.Timeout;
  readonly #info = new WeakMap<RedisSession, ServerInfo>();

  /** @throws Error if the URL cannot be used */
  constructor({ url, retentionMs }: { url: string; retentionMs: number }) {
    this.#retentionMs = retentionMs;
    this.#connection = new RedisConnection(url, this.#readInfo);
    this.#timer = setInterval(this.#checkAgain, CHECK_INTERVAL_MS).unref();
  }

  get usage(): Usage | undefined {
    try {
      return this.#infoOf(this.#connection.session).usage;
    } catch {
      return undefined;
    }
  }

  async read(key: string): Promise<Reading> {
    const { session } = this.#connection;
    const { data } = readReplySchema.safeParse(await session.run(readScript, [keyOf(key)], []));
    if (data === undefined) throw new StoreUnavailable('corrupt');
    const [version, text, seconds, micros] = data;
    const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    const { serverId } = this.#infoOf(session);
    return { entry: version === '' ? null : { version, text }, now, serverId };
  }

  async swap({ key, expected, next, basis }: Change): Promise<boolean> {
    const { session } = this.#connection;
    const { serverId, hasReplicas } = this.#infoOf(session);
    if (serverId !== basis.serverId) throw new BasisChanged();
    const retention = key === COMPLETENESS_KEY ? '' : String(this.#retentionMs);
    const keys = [keyOf(key), keyOf(COMPLETENESS_KEY)];
    const { version = '', text = '' } = next ?? {};
    const args = [expected ?? '', version, text, retention, basis.generation ?? ''];
    const reply = swapReplySchema.parse(await session.run(swapScript, keys, args));
    if (reply === 'basis') throw new BasisChanged();
    if (reply === 'swapped' && hasReplicas) await waitForReplica(session);
    return reply === 'swapped';
  }

  isContinuation(writtenOn: string, serverId: string): boolean {
    return writtenOn === serverId;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#connection.close();
  }

  #infoOf(session: RedisSession): ServerInfo {
    const info = this.#info.get(session);
    if (info === undefined) throw new StoreUnavailable('unreachable');
    return info;
  }

  /** Reads what the server says about itself. A policy that evicts keys would let a write be sent twice. */
  readonly #readInfo = async (session: RedisSession): Promise<void> => {
    const text = z.string().parse(await session.command(['INFO']));
    const field = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(text)?.[1];
    const maxBytes = Number(field('maxmemory') ?? 0) || Infinity;
    const policy = field('maxmemory_policy') ?? 'noeviction';
    if (maxBytes !== Infinity && policy !== 'noeviction') {
      throw new StoreUnavailable(
        'evicting',
        `Redis would evict idempotency keys: set its maxmemory-policy to noeviction (it is ${policy})`,
      );
    }
    const keys = [...text.matchAll(/^db\d+:keys=(\d+)/gm)].reduce(
      (sum, [, n]) => sum + Number(n),
      0,
    );
    const bytes = Number(field('used_memory') ?? 0);
    this.#info.set(session, {
      serverId: z.string().parse(field('run_id')),
      hasReplicas: Number(field('connected_slaves') ?? 0) > 0,
      usage: { keys, maxKeys: Infinity, bytes, maxBytes },
    });
  };

  readonly #checkAgain = async (): Promise<void> => {
    try {
      const { session } = this.#connection;
      await this.#readInfo(session).catch((error: unknown) => {
        session.close(error instanceof StoreUnavailable ? error : undefined);
      });
    } catch {
      // There is no connection. A new one is checked when it is made.
    }
  };
}

/** Without a confirmation, the change may be lost with the server. */
async function waitForReplica(session: RedisSession): Promise<void> {
  const confirmed = await session.command(['WAIT', '1', String(REPLICA_TIMEOUT_MS)]);
  if (!(Number(confirmed) >= 1)) throw new ReplyLost('not_replicated');
}

function keyOf(key: string): string {
  return `${PREFIX}${key === COMPLETENESS_KEY ? key : `key:${key}`}`;
}
