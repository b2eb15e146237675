import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../testkit/eventually.ts';
import { startRedis } from '../../testkit/redis.ts';
import { startFaultProxy } from '../fault-proxy.ts';
import type { Harness, Row } from '../harness.ts';
import { killOne, type Stage, underLoad, whenBack } from './stage.ts';

/** Promotes a replica that lags behind, while gateways are killed as well. */
export async function failOverRedis(harness: Harness): Promise<Row[]> {
  const args = ['--repl-diskless-sync-delay', '0', '--repl-ping-replica-period', '1'];
  const replicaOf = (port: number) =>
    startRedis({ args: [...args, '--replicaof', '127.0.0.1', String(port)] });
  let primary = await startRedis({ args });
  let replica = await replicaOf(primary.port);
  const address = await startFaultProxy(primary.port);
  const store = `redis://127.0.0.1:${address.port}`;
  const fail = async (stage: Stage, n: number) => {
    await eventually(async () => {
      const info = String(await replica.command('INFO', 'replication'));
      if (!info.includes('master_link_status:up')) throw new Error('not replicating');
    });
    await sleep(2500); // The gateways see the replica.
    replica.signal('SIGSTOP');
    await sleep(60);
    const startAgain = n % 2 === 1 && (await killOne(stage, n));
    await primary.stop();
    stage.lossesAt.push(performance.now());
    replica.signal('SIGCONT');
    await replica.command('REPLICAOF', 'NO', 'ONE');
    address.to(replica.port);
    primary = replica;
    if (startAgain) await startAgain();
    await whenBack(stage);
    replica = await replicaOf(primary.port);
  };
  return underLoad(harness, 'redis, failover of a lagging replica', { store, fail });
}

/** Empties Redis under load, while a gateway starts that knows nothing of it. */
export async function emptyRedis(harness: Harness): Promise<Row[]> {
  const redis = await startRedis();
  const what = 'redis, emptied while a fourth gateway starts';
  const fail = async (stage: Stage) => {
    const starting = stage.start();
    await sleep(Math.random() * 1000);
    await redis.command('FLUSHALL');
    stage.lossesAt.push(performance.now());
    await starting;
    await whenBack(stage);
    const [port = '', gateway] = [...stage.gateways].at(-1) ?? [];
    stage.gateways.delete(port);
    await gateway?.kill();
  };
  return underLoad(harness, what, { store: redis.url, fail });
}

/** Lets Redis evict keys for a moment, shorter than the time between two checks of its policy. */
export async function evictRedis(harness: Harness): Promise<Row[]> {
  const redis = await startRedis();
  const config = (memory: string, policy: string) =>
    redis.command('CONFIG', 'SET', 'maxmemory', memory, 'maxmemory-policy', policy);
  const fail = async (stage: Stage) => {
    await config('1', 'volatile-random');
    await redis.command('SET', 'another', 'x').catch(() => {}); // Evicts what it can.
    stage.lossesAt.push(performance.now());
    await config('0', 'noeviction');
    await whenBack(stage);
    await sleep(2000);
  };
  return underLoad(harness, 'redis, keys evicted', { store: redis.url, fail });
}
