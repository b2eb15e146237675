import { isRedisInstalled, startRedis as start } from '../test/support/redis.ts';
import type { Harness } from './harness.ts';

/** What to do about a missing Redis; undefined if it is installed. */
export const missingRedis = isRedisInstalled
  ? undefined
  : 'redis-server is missing: apt-get install redis-server (Debian)';

/** Starts a Redis server that ends with the scenario. */
export async function startRedis(
  harness: Harness,
  options: { port?: number; args?: string[] } = {},
): ReturnType<typeof start> {
  const redis = await start(options);
  process.once('exit', () => redis.signal('SIGKILL'));
  harness.defer(() => redis.stop());
  return redis;
}
