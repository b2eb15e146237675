import { z } from 'zod';
import { pause } from '../poll.ts';
import {
  type Change,
  COMPLETENESS_KEY,
  type IdempotencyStore,
  type Reading,
  ReplyLost,
  StoreUnavailable,
  type SwapResult,
  shareOf,
  type UnavailableReason,
  type Usage,
} from '../store.ts';
import { IN_CLUSTER, RedisSession, scriptOf, USE_PRIMARY } from './redis-connection.ts';

/** One hash tag, so that a script may use both keys on a clustered server. */
const PREFIX = '{ledger-gateway}:';

/** Returns version, text, and the time in milliseconds. KEYS: the key. */
const readScript = scriptOf(`
  local version, text = unpack(redis.call('HMGET', KEYS[1], 'version', 'text'))
  local time = redis.call('TIME')
  return { version or '', text or '', time[1] * 1000 + math.floor(time[2] / 1000) }`);

/** What a key takes besides its text. */
const KEY_BYTES = 512;

/**
 * Replaces an entry, if the server still has the same number of evicted keys and the same history of replication. Returns `swapped`, `other` if the key has another version, `basis`, or `share` if the caller would hold
 * too much.
 *
 * If the server rejects a command, for example because its user may not use it, the commands before it are not undone. So the
 * entry of a key is changed last. A full server rejects a script only at its first command that writes, and only if that takes
 * memory. So a change that needs no room begins with a command that takes none.
 *
 * No script runs when a key expires. So what a caller holds is counted separately for each eighth of the retention.
 * KEYS: the key, the entry of completeness, what the caller holds. ARGV: version to replace or '', new version or '',
 * text, retention (ms) or '', version of the entry of completeness or '', the most bytes that the caller may hold or '',
 * the number of evicted keys, the history of replication, the time (ms) until when the change may be made.
 */
const swapScript = scriptOf(`
  local evicted = string.match(redis.call('INFO', 'stats'), 'evicted_keys:(%d+)') or ''
  local history = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)') or ''
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if evicted ~= ARGV[7] or history ~= ARGV[8] or now > tonumber(ARGV[9]) then return 'basis' end
  if ARGV[5] ~= '' and redis.call('HGET', KEYS[2], 'version') ~= ARGV[5] then return 'basis' end
  local version, part = unpack(redis.call('HMGET', KEYS[1], 'version', 'part'))
  if (version or '') ~= ARGV[1] then return 'other' end
  local before = part and redis.call('HSTRLEN', KEYS[1], 'text') + ${KEY_BYTES} or 0
  local after = ARGV[2] ~= '' and #ARGV[3] + ${KEY_BYTES} or 0
  local retention = tonumber(ARGV[4] ~= '' and ARGV[4] or 0)
  local length = math.ceil(retention / 8)
  local held, ended = after - before, {}
  local parts = KEYS[3] and redis.call('HGETALL', KEYS[3]) or {}
  for i = 1, #parts, 2 do
    if parts[i] + retention + length < now then table.insert(ended, parts[i]) else held = held + parts[i + 1] end
  end
  if ARGV[6] ~= '' and held > tonumber(ARGV[6]) then return 'share' end

  if not KEYS[3] then
    if ARGV[1] ~= '' then redis.call('DEL', KEYS[1]) end
    redis.call('HSET', KEYS[1], 'version', ARGV[2], 'text', ARGV[3])
    return 'swapped'
  end
  local current = now - now % length
  if ARGV[1] ~= '' and ARGV[6] == '' then redis.call('PEXPIRE', KEYS[1], retention) end
  if part then redis.call('HINCRBY', KEYS[3], part, -before) end
  if ARGV[2] ~= '' then
    redis.call('HINCRBY', KEYS[3], current, after)
    redis.call('PEXPIRE', KEYS[3], retention + length)
  end
  if #ended > 0 then redis.call('HDEL', KEYS[3], unpack(ended)) end
  if ARGV[2] == '' then
    redis.call('DEL', KEYS[1])
  else
    redis.call('HSET', KEYS[1], 'version', ARGV[2], 'text', ARGV[3], 'part', current)
    redis.call('PEXPIRE', KEYS[1], retention)
  end
  return 'swapped'`);

const readReplySchema = z.tuple([z.string(), z.string(), z.number()]);
const swapReplySchema = z.enum(['swapped', 'other', 'basis', 'share']);

type Connection = Awaited<ReturnType<typeof inspect>>;

/**
 * Keeps keys in Redis or Valkey, for several gateways. Every operation is one script that is sent at most once. The
 * store connects in the background, and a call without a connection fails at once. Where the server has replicas, a
 * change counts only when one of them has it.
 */
export class RedisStore implements IdempotencyStore {
  readonly #closing = new AbortController();
  readonly #connecting: Promise<void>;
  #current: Connection | StoreUnavailable = new StoreUnavailable('connecting');

  /** @throws Error if the URL cannot be used */
  constructor({ url }: { url: string }) {
    new RedisSession(url).close();
    this.#connecting = this.#keepConnected(url);
  }

  get usage(): Usage | undefined {
    return this.#current instanceof StoreUnavailable ? undefined : this.#current.usage;
  }

  async read(key: string): Promise<Reading> {
    if (key === COMPLETENESS_KEY) this.#current = await inspect(this.#connection.session);
    const { session, serverId, history } = this.#connection;
    const reply = await session.script(readScript, ['1', keyOf(key)]);
    const { data } = readReplySchema.safeParse(reply);
    if (data === undefined) throw new StoreUnavailable('corrupt');
    const [version, text, now] = data;
    return { entry: version === '' ? null : { version, text }, now, serverId, history };
  }

  async swap({ key, expected, next, caller, needsRoom, basis }: Change): Promise<SwapResult> {
    const { session, serverId, history, evicted, hasReplicas, usage } = this.#connection;
    if (serverId !== basis.serverId || history !== basis.history) return 'basis';
    const keys = [keyOf(key), keyOf(COMPLETENESS_KEY)];
    if (caller !== null) keys.push(`${PREFIX}caller:${caller}`);
    const { version = '', text = '' } = next ?? {};
    const retention = caller === null ? '' : String(basis.retentionMs);
    // A caller leaves a part of the memory to others even while this process believes that there is enough. In the server,
    // keys take up to a quarter more than is counted.
    const share = shareOf(usage) ?? Math.floor(usage.maxBytes * 0.6);
    const room = needsRoom && share < Infinity ? String(share) : '';
    const generation = basis.generation ?? '';
    const conditions = [room, evicted, history, String(basis.validUntil)];
    const args = [expected ?? '', version, text, retention, generation, ...conditions];
    const values = [String(keys.length), ...keys, ...args];
    const reply = swapReplySchema.parse(await session.script(swapScript, values));
    if (reply === 'share') throw new StoreUnavailable('share');
    if (reply !== 'swapped' || !hasReplicas) return reply;
    // The change is made. Without a confirmation in half a second, it may be lost with the server.
    const confirmed = await session.command(['WAIT', '1', '500']).catch((error: unknown) => {
      throw error instanceof StoreUnavailable ? new ReplyLost(error.reason) : error;
    });
    if (!(Number(confirmed) >= 1)) throw new ReplyLost('not_replicated');
    return reply;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    if ('session' in this.#current) this.#current.session.close();
    await this.#connecting;
  }

  get #connection(): Connection {
    if (this.#current instanceof StoreUnavailable) throw this.#current;
    return this.#current;
  }

  /** Keeps one connection until the store is closed, and makes a new one whenever it ends. */
  async #keepConnected(url: string): Promise<void> {
    const { signal } = this.#closing;
    for (let ms = 50; !signal.aborted; ms = Math.min(ms * 2, 2000)) {
      const session = new RedisSession(url);
      try {
        await session.connect();
        const connection = await inspect(session);
        // A server that is full, for example, still takes outcomes.
        await tryCommands(session).catch(() => {});
        if (session.failure) throw session.failure;
        this.#current = connection;
        ms = 50;
        if (signal.aborted) session.close();
      } catch (error) {
        session.close(error instanceof StoreUnavailable ? error : new StoreUnavailable('failed'));
      }
      this.#current = await session.ended;
      await pause(ms, signal);
    }
  }
}

/** Checks whether a server can be used. @throws StoreUnavailable, or Error if the URL cannot be used */
export async function checkRedis(url: string): Promise<void> {
  const session = new RedisSession(url);
  try {
    await session.connect();
    await inspect(session);
    await tryCommands(session);
    await session.script(readScript, ['1', keyOf(COMPLETENESS_KEY)]);
  } catch (error) {
    // If the connection has ended, its failure says more than that of the command.
    session.close(error instanceof StoreUnavailable ? error : new StoreUnavailable('failed'));
    throw await session.ended;
  }
  session.close();
}

/**
 * Executes each command of the scripts once, on a key that is removed, so that a missing right is noticed before the first
 * write. When a script fails, Redis 7.0 does not say which command its user may not execute.
 */
async function tryCommands(session: RedisSession): Promise<void> {
  // Several processes may use this key at a time.
  const key = `${PREFIX}trial`;
  const commands = [
    ['EVAL', 'return 1', '0'], // Otherwise it is used only for a script that the server does not know.
    ['TIME'],
    ['HSET', key, 'text', ''],
    ['PEXPIRE', key, '1000'],
    ['HINCRBY', key, 'part', '1'],
    ['HGET', key, 'text'],
    ['HMGET', key, 'text'],
    ['HGETALL', key],
    ['HSTRLEN', key, 'text'],
    ['HDEL', key, 'part'],
    ['DEL', key],
    ['WAIT', '0', '0'],
  ];
  await Promise.all(commands.map((command) => session.command(command)));
}

/**
 * Reads what the server says about itself: on each new connection, and with each check of completeness. Closes the connection
 * if the server cannot be used. If it may evict keys, for example, a write could be sent twice.
 */
async function inspect(session: RedisSession) {
  const text = z.string().parse(await session.command(['INFO']));
  const field = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(text)?.[1];
  const evicted = field('evicted_keys') ?? '';
  const maxBytes = Number(field('maxmemory') ?? 0) || Infinity;
  const failure = unusable(field, maxBytes);
  if (failure) {
    session.close(failure);
    throw await session.ended;
  }
  const databases = text.matchAll(/^db\d+:keys=(\d+)/gm);
  const keys = databases.reduce((sum, [, n]) => sum + Number(n), 0);
  const bytes = Number(field('used_memory') ?? 0);
  return {
    session,
    // Version 1.0.0 compares these three.
    serverId: `${z.string().parse(field('run_id'))}:${evicted}:${field('total_net_repl_input_bytes') ?? ''}`,
    history: field('master_replid') ?? '',
    evicted,
    hasReplicas: Number(field('connected_slaves') ?? 0) > 0,
    usage: { keys, maxKeys: Infinity, bytes, maxBytes },
  };
}

/** Why a server cannot be used, by what it says about itself. */
function unusable(
  field: (name: string) => string | undefined,
  maxBytes: number,
): StoreUnavailable | undefined {
  const fail = (reason: UnavailableReason, fault: string) =>
    new StoreUnavailable(reason, `The Redis server ${fault}`);
  if (field('redis_mode') === 'sentinel')
    return fail('unsupported', `is a Sentinel. ${USE_PRIMARY}`);
  if (field('cluster_enabled') === '1') return fail('unsupported', IN_CLUSTER);
  if (field('role') === 'slave') return fail('read_only', `is a replica. ${USE_PRIMARY}`);
  const policy = field('maxmemory_policy') ?? 'noeviction';
  if (maxBytes === Infinity || policy === 'noeviction') return undefined;
  const remedy = `Set its maxmemory-policy to noeviction (it is ${policy})`;
  return fail('evicting', `would evict idempotency keys. ${remedy}`);
}

function keyOf(key: string): string {
  return `${PREFIX}${key === COMPLETENESS_KEY ? key : `key:${key}`}`;
}
