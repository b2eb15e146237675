import { spawn, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endProcess, hasExited, whenPrinted } from './child-process.ts';
import { closeAfterTest } from './cleanup.ts';
import { freePort } from './port.ts';

/** Tests that need it are skipped where it is missing: npm cannot install it. */
export const isPgBouncerInstalled =
  spawnSync('pgbouncer', ['--version'], { stdio: 'ignore' }).error === undefined;

/**
 * PgBouncer in transaction mode on a free port of the loopback, in front of a server. Its user is `postgres`, and its database
 * `behind` is one that the server does not have. It stops after the test.
 */
export async function startPgBouncer(server: { port: number }) {
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'));
  await chmod(folder, 0o755);
  const port = await freePort();
  const path = join(folder, 'pgbouncer.ini');
  const users = join(folder, 'users.txt');
  await writeFile(users, '"postgres" ""');
  const lines = [
    '[databases]',
    `behind = host=127.0.0.1 port=${server.port} user=postgres dbname=missing`,
    `postgres = host=127.0.0.1 port=${server.port} user=postgres`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    'pool_mode = transaction',
    // Another attempt follows sooner than after the 15 s of the default.
    'server_login_retry = 0.1',
  ];
  await writeFile(path, lines.join('\n'));
  // It does not run as root.
  const user = process.getuid?.() === 0 ? ['--user', 'postgres'] : [];
  const child = spawn('pgbouncer', [...user, path], { stdio: ['ignore', 'ignore', 'pipe'] });
  closeAfterTest(async () => {
    await endProcess(child);
    await rm(folder, { recursive: true, force: true });
  });
  await whenPrinted(child.stderr, 'process up');
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    isRunning: () => !hasExited(child),
  };
}
