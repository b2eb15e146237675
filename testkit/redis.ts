import { spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import { endProcess, whenPrinted } from './child-process.ts';
import { closeAfterTest } from './cleanup.ts';
import { freePort } from './port.ts';

/** Tests that need a server are skipped where there is none: npm cannot install one. */
export const isRedisInstalled =
  spawnSync('redis-server', ['--version'], { stdio: 'ignore' }).error === undefined;

/** Its duplicates share its class, whose many methods take a while to create. */
const anyClient = createClient();

type Options = {
  port?: number;
  args?: string[];
  /** Starts a Sentinel, which has no records. */
  isSentinel?: boolean;
  /** Additional environment variables, such as those of a clock (fake-clock.ts). */
  env?: Record<string, string>;
};

/** A Redis server that keeps nothing on disk, on a port of its own unless one is given. It stops after the test. */
export async function startRedis(options: Options = {}) {
  if (!isRedisInstalled) throw new Error('redis-server is missing: apt-get install redis-server');
  for (let attempts = 3; ; attempts--) {
    try {
      const server = await startServer(options);
      closeAfterTest(() => server.stop());
      return server;
    } catch (error) {
      // Another test may have taken the free port in the meantime.
      if (options.port !== undefined || attempts === 1) throw error;
    }
  }
}

async function startServer({ port, args = [], isSentinel = false, env }: Options) {
  const directory = await mkdtemp(join(tmpdir(), 'redis-'));
  const usedPort = port ?? (await freePort());
  const fixed = ['--port', String(usedPort), '--bind', '127.0.0.1', '--dir', directory];
  const spawnServer = async () => {
    // A replica gets its copy at once.
    const settings = ['--save', '', '--appendonly', 'no', '--repl-diskless-sync-delay', '0'];
    const configuration = join(directory, 'sentinel.conf');
    if (isSentinel) await writeFile(configuration, '');
    const mode = isSentinel ? [configuration, '--sentinel', ...fixed] : [...fixed, ...settings];
    const child = spawn('redis-server', [...mode, ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    await whenPrinted(child.stdout, isSentinel ? 'Sentinel ID is' : 'Ready to accept connections');
    return child;
  };
  let child = await spawnServer();
  return {
    port: usedPort,
    url: `redis://127.0.0.1:${usedPort}`,
    signal: (signal: NodeJS.Signals) => child.kill(signal),
    /** Ends the server at once, and deletes its directory. */
    async stop() {
      await endProcess(child);
      await rm(directory, { recursive: true, force: true });
    },
    /** Ends the server at once, and starts it again with what it has on disk. */
    async restart() {
      await endProcess(child);
      child = await spawnServer();
    },
    /** Sends one command with a client of its own. */
    async command(...command: string[]): Promise<unknown> {
      const client = anyClient.duplicate({ url: `redis://127.0.0.1:${usedPort}` });
      await client.connect();
      try {
        return await client.sendCommand(command);
      } finally {
        client.destroy();
      }
    },
  };
}
