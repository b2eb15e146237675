import { hash } from 'node:crypto';

/** A Lua script, with the hash by which Redis knows it. */
export type Script = { source: string; sha: string };

function script(source: string): Script {
  return { source, sha: hash('sha1', source, 'hex') };
}

/*
 * A claim is a hash with `fingerprint`, and with `owner` and `leaseEnd` until `outcome` replaces them. The epoch
 * is a random id. A register is the number of claims that one process has made, and only this process counts in it.
 * A process remembers the epoch and its count. If Redis has another epoch, no register or a smaller number, it has
 * lost claims: it was restarted empty or from an old snapshot, it was flushed, or a lagging replica was promoted.
 */
const isIntact = `
  local function isIntact(epoch, register, id, made)
    local found = redis.call('GET', epoch)
    local claims = tonumber(redis.call('GET', register) or -1)
    if found == id and claims >= tonumber(made) then return true, claims end
    redis.call('PERSIST', epoch) -- Fails on a replica, which may only lag behind.
    if found == id then redis.call('DEL', epoch) end -- Tells the other processes.
    return false
  end`;

/**
 * Creates the register of a new process, and the epoch unless it exists. Returns the epoch.
 * KEYS: epoch, register. ARGV: a random id, lifetime of the register (ms).
 */
export const epochScript = script(`
  redis.call('SET', KEYS[1], ARGV[1], 'NX')
  redis.call('SET', KEYS[2], 0, 'PX', ARGV[2], 'NX')
  return redis.call('GET', KEYS[1])`);

/**
 * Checks for lost claims, and extends the life of the register. Returns `intact` or `data_lost`.
 * KEYS: epoch, register. ARGV: epoch, number of claims made, lifetime of the register (ms).
 */
export const checkScript = script(`${isIntact}
  redis.call('PEXPIRE', KEYS[2], ARGV[3]) -- Fails on a replica.
  return isIntact(KEYS[1], KEYS[2], ARGV[1], ARGV[2]) and 'intact' or 'data_lost'`);

/**
 * Claims a key. Returns the state, then the number of claims made or the fingerprint, then the outcome.
 * KEYS: claim, epoch, register, mark of the owner.
 * ARGV: owner, fingerprint, lease (ms), retention (ms), epoch, number of claims made.
 */
export const claimScript = script(`${isIntact}
  local intact, claims = isIntact(KEYS[2], KEYS[3], ARGV[5], ARGV[6])
  if not intact then return { 'data_lost' } end
  local owner, leaseEnd, fingerprint, outcome = unpack(
    redis.call('HMGET', KEYS[1], 'owner', 'leaseEnd', 'fingerprint', 'outcome'))
  if outcome then return { 'recorded', fingerprint, outcome } end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  if owner then
    if tonumber(leaseEnd) <= now then return { 'orphaned', fingerprint } end
    if owner ~= ARGV[1] then return { 'in-flight', fingerprint } end
    return { 'claimed', claims }
  end
  if redis.call('GET', KEYS[4]) then return { 'cancelled' } end
  claims = redis.call('INCR', KEYS[3])
  redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'leaseEnd', now + ARGV[3], 'fingerprint', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return { 'claimed', claims }`);

/** Stores the outcome for the owner. KEYS: claim. ARGV: owner, outcome. */
export const recordScript = script(`
  if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
  redis.call('HSET', KEYS[1], 'outcome', ARGV[2])
  return redis.call('HDEL', KEYS[1], 'owner', 'leaseEnd')`);

/**
 * Frees a key for the owner. Redis may execute a claim without a reply later than its release, so an owner that
 * does not hold the key gets a mark that cancels such a claim. Each owner has its own, since several claims on
 * one key may be without a reply.
 * KEYS: claim, mark of the owner. ARGV: owner, lifetime of the mark (ms).
 */
export const releaseScript = script(`
  local owner, outcome = unpack(redis.call('HMGET', KEYS[1], 'owner', 'outcome'))
  if owner == ARGV[1] then return redis.call('DEL', KEYS[1]) end
  if not outcome then redis.call('SET', KEYS[2], '', 'PX', ARGV[2]) end
  return 0`);
