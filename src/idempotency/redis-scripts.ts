import { createHash } from 'node:crypto';

/** A Lua script, with the hash by which Redis knows it. */
export type Script = { source: string; sha: string };

function script(source: string): Script {
  return { source, sha: createHash('sha1').update(source).digest('hex') };
}

/*
 * A claim is a hash with `fingerprint`, and with `owner` and `leaseEnd` until `outcome` replaces them. The epoch
 * is a hash with a random `id` and the number of `claims` made since it was created; a process remembers both.
 * A missing or different id, or a smaller number, means that Redis has lost claims: it was restarted empty or
 * from an old snapshot, it was flushed, or a lagging replica was promoted.
 */
const isIntact = `
  local function isIntact(key, id, seen)
    local epoch = redis.call('HMGET', key, 'id', 'claims')
    if epoch[1] == id and tonumber(epoch[2]) >= tonumber(seen) then return true, epoch[2] end
    redis.call('PERSIST', key) -- Fails on a replica, which may only lag behind.
    if epoch[1] == id then redis.call('DEL', key) end -- Tells the other processes.
    return false
  end`;

/**
 * Creates the epoch unless it exists, for the first connection of a process. Returns its id and claims.
 * KEYS: epoch. ARGV: a random id.
 */
export const epochScript = script(`
  redis.call('HSETNX', KEYS[1], 'id', ARGV[1])
  redis.call('HSETNX', KEYS[1], 'claims', 0)
  return redis.call('HMGET', KEYS[1], 'id', 'claims')`);

/** Checks the epoch. Returns `intact` or `data_lost`. KEYS: epoch. ARGV: id, number of claims seen. */
export const checkScript = script(`${isIntact}
  redis.call('PERSIST', KEYS[1]) -- Fails on a replica.
  return isIntact(KEYS[1], ARGV[1], ARGV[2]) and 'intact' or 'data_lost'`);

/**
 * Claims a key. Returns the state, then the number of claims or the fingerprint, then the outcome.
 * KEYS: claim, epoch. ARGV: owner, fingerprint, lease (ms), retention (ms), epoch id, number of claims seen.
 */
export const claimScript = script(`${isIntact}
  local intact, claims = isIntact(KEYS[2], ARGV[5], ARGV[6])
  if not intact then return { 'data_lost' } end
  local owner, leaseEnd, fingerprint, outcome, cancelled = unpack(
    redis.call('HMGET', KEYS[1], 'owner', 'leaseEnd', 'fingerprint', 'outcome', 'cancelled'))
  if outcome then return { 'recorded', fingerprint, outcome } end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if owner then
    if tonumber(leaseEnd) <= now then return { 'orphaned', fingerprint } end
    if owner ~= ARGV[1] then return { 'in-flight', fingerprint } end
    return { 'claimed', claims }
  end
  if cancelled == ARGV[1] then return { 'cancelled' } end
  redis.call('HINCRBY', KEYS[2], 'claims', 1)
  if cancelled then redis.call('DEL', KEYS[1]) end
  redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'leaseEnd', now + ARGV[3], 'fingerprint', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return { 'claimed', redis.call('HGET', KEYS[2], 'claims') }`);

/** Stores the outcome for the owner. KEYS: claim. ARGV: owner, outcome. */
export const recordScript = script(`
  if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
  redis.call('HSET', KEYS[1], 'outcome', ARGV[2])
  return redis.call('HDEL', KEYS[1], 'owner', 'leaseEnd')`);

/**
 * Frees a key for the owner. Redis may execute a claim without a reply later than its release, so a key that
 * is free already gets a mark that cancels such a claim. KEYS: claim. ARGV: owner, lifetime of the mark (ms).
 */
export const releaseScript = script(`
  local owner, outcome = unpack(redis.call('HMGET', KEYS[1], 'owner', 'outcome'))
  if owner == ARGV[1] then return redis.call('DEL', KEYS[1]) end
  if owner or outcome then return 0 end
  redis.call('HSET', KEYS[1], 'cancelled', ARGV[1])
  return redis.call('PEXPIRE', KEYS[1], ARGV[2])`);
