import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../testkit/port.ts';
import { startPostgres } from '../testkit/postgres.ts';
import { cores, startCommand, stop } from './children.ts';

/** The stores of idempotency keys. */
export const storeNames = ['memory', 'file', 'redis', 'postgres'] as const;

export type StoreName = (typeof storeNames)[number];

/** A store, as the value of IDEMPOTENCY_STORE, and how to end its server. */
export type Store = { setting: string; stop?: () => Promise<unknown> };

/** Whether the command `redis-server` exists. npm cannot install it. */
export function isRedisInstalled(): boolean {
  return spawnSync('redis-server', ['--version']).error === undefined;
}

/** Prepares a store of its own in a new folder inside `parent`. */
export async function prepareStore(name: StoreName, parent: string): Promise<Store> {
  const folder = join(parent, crypto.randomUUID());
  mkdirSync(folder);
  if (name === 'memory') return { setting: 'memory' };
  if (name === 'file') return { setting: `file:${join(folder, 'keys.db')}` };
  if (name === 'postgres') {
    const { url, stop } = await startPostgres();
    return { setting: url, stop };
  }
  const port = await freePort();
  const redis = startCommand(cores.service, 'redis-server', [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', folder, '--save', ''],
  ]);
  await whenListening(port);
  return { setting: `redis://127.0.0.1:${port}`, stop: () => stop(redis) };
}

async function whenListening(port: number): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await sleep(50);
  }
  throw new Error('redis-server was not ready within 5 s');
}
