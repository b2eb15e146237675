import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { appendFile, chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { endProcess, whenPrinted } from './child-process.ts';
import { closeAfterTest } from './cleanup.ts';
import { freePort } from './port.ts';

/** Debian keeps the programs of the server outside of PATH. */
const folders = existsSync('/usr/lib/postgresql')
  ? readdirSync('/usr/lib/postgresql').map((version) => `/usr/lib/postgresql/${version}/bin/`)
  : [];
const bin = [...folders, ''].find(
  (folder) => spawnSync(`${folder}postgres`, ['--version'], { stdio: 'ignore' }).status === 0,
);

/** Tests that need a server are skipped where there is none: npm cannot install one. */
export const isPostgresInstalled = bin !== undefined;

/** PostgreSQL does not run as root. */
const isRoot = process.getuid?.() === 0;

function run(program: string, args: string[]): void {
  const [command, rest] = commandOf(program, args);
  execFileSync(command, rest, { stdio: 'ignore' });
}

/** The environment is that of the program alone: what libfaketime shares must belong to the user `postgres`. */
function commandOf(program: string, args: string[], env = {}): [string, string[]] {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const command = [...variables, `${bin}${program}`, ...args];
  if (!isRoot) return ['env', command];
  return ['setpriv', ['--reuid=postgres', '--regid=postgres', '--clear-groups', 'env', ...command]];
}

/** What `initdb` created once, which takes more than a second of a core. Each server gets a copy. */
const template = join(
  import.meta.dirname,
  '../node_modules/.cache/postgres',
  String(bin).replaceAll('/', '_'),
);

function createCluster(data: string, isOwn: boolean): void {
  if (existsSync(template) && !isOwn) {
    execFileSync('cp', ['-a', template, data]);
    return;
  }
  run('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-N', '--no-locale', '-E', 'UTF8']);
  if (isOwn) return;
  mkdirSync(dirname(template), { recursive: true });
  const copy = `${template}.${process.pid}`;
  execFileSync('cp', ['-a', data, copy]);
  try {
    renameSync(copy, template);
  } catch {
    rmSync(copy, { recursive: true }); // Another process was faster.
  }
}

export type PostgresServer = Awaited<ReturnType<typeof startPostgres>>;

type Options = {
  settings?: Record<string, string>;
  primary?: { port: number };
  name?: string;
  /** Whether `initdb` creates it. Otherwise it is a copy, which has the identity of the others. */
  isOwnCluster?: boolean;
  /** Additional environment variables, such as those of a clock (fake-clock.ts). */
  env?: Record<string, string>;
};

/**
 * A PostgreSQL server on a free port of the loopback, with these settings; a standby of `primary` with this name if it is
 * given. It stops after the test.
 */
export async function startPostgres(options: Options = {}) {
  if (!isPostgresInstalled) throw new Error('postgres is missing: apt-get install postgresql');
  const folder = await mkdtemp(join(tmpdir(), 'postgres-'));
  await chmod(folder, 0o777);
  const data = join(folder, 'data');
  const port = await freePort();
  const { primary, name = 'standby', isOwnCluster = false } = options;
  if (primary) {
    const source = `host=127.0.0.1 port=${primary.port} user=postgres application_name=${name}`;
    run('pg_basebackup', ['-D', data, '-d', source, '-R', '-c', 'fast']);
  } else {
    createCluster(data, isOwnCluster);
  }
  const settings: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    max_connections: '60',
    shared_buffers: '16MB',
    // A test ends the server, not the machine.
    fsync: 'off',
    ...options.settings,
  };
  const lines = Object.entries(settings).map(([key, value]) => `${key} = '${value}'`);
  await appendFile(join(data, 'postgresql.conf'), `\n${lines.join('\n')}\n`);
  let child = await startServer();
  let isPaused = false;

  async function startServer() {
    const [command, args] = commandOf('postgres', ['-D', data, '-p', String(port)], options.env);
    const server = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    await whenPrinted(server.stderr, 'database system is ready to accept');
    return server;
  }

  /** Ends the server at once, without a checkpoint. */
  async function kill() {
    if (isPaused) resume();
    await endProcess(child, 'SIGQUIT');
  }

  /** Stops all processes of the server where they are, until `resume`. */
  function pause() {
    isPaused = true;
    signalAll('SIGSTOP');
  }

  function resume() {
    isPaused = false;
    signalAll('SIGCONT');
  }

  /** Sends a signal to the server and its child processes. */
  function signalAll(signal: NodeJS.Signals) {
    const children = execFileSync('ps', ['-o', 'pid=', '--ppid', String(child.pid)], {
      encoding: 'utf8',
    });
    for (const pid of [Number(child.pid), ...children.split(/\s+/).filter(Boolean).map(Number)]) {
      try {
        process.kill(pid, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }

  async function query(text: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ host: '127.0.0.1', port, user: 'postgres' });
    client.on('error', () => {}); // The server ended. The query rejects.
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }

  const stop = async () => {
    await kill();
    await rm(folder, { recursive: true, force: true });
  };
  closeAfterTest(stop);
  return {
    port,
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    /** As libpq writes the URL of a socket. */
    socketUrl: `postgres://postgres@/postgres?host=${folder}&port=${port}`,
    /** Executes one statement with a client of its own. */
    query,
    /** Changes a setting of the running server. */
    async set(name: string, value: string): Promise<void> {
      await query(`ALTER SYSTEM SET ${name} = '${value}'`);
      await query('SELECT pg_reload_conf()');
    },
    kill,
    async restart(): Promise<void> {
      await kill();
      child = await startServer();
    },
    pause,
    resume,
    promote: () => run('pg_ctl', ['promote', '-w', '-D', data]),
    stop,
  };
}
