import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../testkit/port.ts';
import { type PostgresServer, startPostgres } from '../testkit/postgres.ts';
import { type Child, cores, startCommand } from './children.ts';
import { atDistance } from './distance.ts';

/** The stores of idempotency keys. `redis-everysec` also writes every claim to a log on disk. */
export const storeNames = ['memory', 'file', 'redis', 'redis-everysec', 'postgres'] as const;

export type StoreName = (typeof storeNames)[number];

export type Store = {
  /** The value of IDEMPOTENCY_STORE. */
  setting: string;
  redis?: Child;
  postgres?: PostgresServer;
};

/** Whether the command `redis-server` exists. npm cannot install it. */
export function isRedisInstalled(): boolean {
  return spawnSync('redis-server', ['--version']).error === undefined;
}

/** Prepares a store of its own in a new folder inside `parent`. A server takes `delayMs` more in each direction. */
export async function prepareStore(name: StoreName, parent: string, delayMs = 0): Promise<Store> {
  const store = await startStore(name, parent);
  if (delayMs === 0 || !(store.redis || store.postgres)) return store;
  return { ...store, setting: await atDistance(store.setting, delayMs) };
}

async function startStore(name: StoreName, parent: string): Promise<Store> {
  const folder = join(parent, crypto.randomUUID());
  mkdirSync(folder);
  if (name === 'memory') return { setting: 'memory' };
  if (name === 'file') return { setting: `file:${join(folder, 'keys.db')}` };
  if (name === 'postgres') {
    const postgres = await startPostgres();
    return { setting: postgres.url, postgres };
  }
  const port = await freePort();
  const appendOnly = name === 'redis' ? 'no' : 'yes';
  const redis = startCommand(cores.service, 'redis-server', [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
    ...['--appendonly', appendOnly, '--appendfsync', 'everysec'],
  ]);
  for (let attempt = 0; attempt < 100; attempt++) {
    const memory = await redisMemory(port).catch(() => undefined);
    if (memory !== undefined) return { setting: `redis://127.0.0.1:${port}`, redis };
    await sleep(50);
  }
  throw new Error('redis-server was not ready within 5 s');
}

/** The memory that a Redis on the loopback interface uses, in bytes. */
export async function redisMemory(port: number): Promise<number> {
  const socket = connect(port, '127.0.0.1');
  socket.end('INFO memory\r\n');
  let reply = '';
  for await (const chunk of socket) reply += chunk;
  const bytes = /^used_memory:(\d+)/m.exec(reply)?.[1];
  if (bytes === undefined) throw new Error(`Redis responded with: ${reply.slice(0, 100)}`);
  return Number(bytes);
}
