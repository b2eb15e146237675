import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** An image that was built: its configuration, and its root folder. */
export type Image = z.infer<typeof inspected>['Docker']['config'] & { root: string };

const root = fileURLToPath(new URL('..', import.meta.url));
/** The base image of the Dockerfile. */
const BASE = 'docker.io/library/node:24-bookworm-slim';
const CA_FOLDER = '/etc/ssl/certs';

const inspected = z.object({
  Docker: z.object({
    config: z.object({
      User: z.string(),
      WorkingDir: z.string(),
      Env: z.array(z.string()),
      Labels: z.record(z.string(), z.string()),
      Entrypoint: z.array(z.string()),
      Healthcheck: z.object({ Test: z.tuple([z.literal('CMD')], z.string()) }),
    }),
  }),
});

/** Builds a target of the Dockerfile with buildah, on a stand-in for its base image. Keeps everything in the folder. */
export function buildImage(folder: string, target: 'gateway' | 'demo'): Image {
  const buildah = buildahIn(folder);
  const npmrc = join(folder, 'npmrc');
  if (!existsSync(npmrc)) {
    const base = buildah('from', 'scratch');
    buildah('add', '--quiet', base, createBaseRoot(folder), '/');
    buildah('commit', '--quiet', '--rm', base, BASE);
    writeFileSync(npmrc, npmConfiguration());
  }
  buildah(
    'bud',
    '--quiet',
    '--pull-never',
    // The format of OCI has no health check.
    ...['--format', 'docker'],
    ...['--secret', `id=npmrc,src=${npmrc}`],
    ...['--volume', `${CA_FOLDER}:${CA_FOLDER}:ro`],
    ...['--volume', `${npmCache()}:/root/.npm`],
    // The gateway is what is built without a target. The demo is built on it, as it was built before.
    ...(target === 'gateway'
      ? []
      : ['--target', target, '--build-context', 'gateway=container-image://localhost/gateway']),
    ...['--tag', target],
    root,
  );
  const { config } = inspected.parse(
    JSON.parse(buildah('inspect', '--type', 'image', target)),
  ).Docker;
  const container = buildah('from', '--pull-never', target);
  return { ...config, root: buildah('mount', container) };
}

/** Removes a folder of `buildImage`, with all images and their mounts. */
export function removeImages(folder: string): void {
  buildahIn(folder)('umount', '--all');
  rmSync(folder, { recursive: true, force: true });
}

function buildahIn(folder: string) {
  const storage = ['--root', join(folder, 'storage'), '--runroot', join(folder, 'run')];
  // This isolation works without a container runtime.
  const variables = { BUILDAH_ISOLATION: 'chroot' };
  return (...args: string[]) => run('buildah', [...storage, ...args], variables);
}

/** The Debian packages that the Dockerfile and the check need of the base image: a shell, `env`, `setpriv`, and what Node loads. */
const packages = 'base-files libc6 libgcc-s1 libstdc++6 dash coreutils util-linux libcap-ng0';

/** Creates a stand-in for the base image from this machine: these packages, Node, npm, and the user `node`. */
function createBaseRoot(folder: string): string {
  const base = join(folder, 'base');
  // The link /lib64 leads to this folder.
  mkdirSync(join(base, 'usr/lib64'), { recursive: true });
  const pack = 'grep ^/ | tar --create --no-recursion --ignore-failed-read --files-from=-';
  run('sh', ['-c', `dpkg --listfiles ${packages} | ${pack} | tar --extract --directory=${base}`]);
  const local = join(base, 'usr/local');
  mkdirSync(join(local, 'bin'), { recursive: true });
  copyFileSync(process.execPath, join(local, 'bin/node'));
  const npm = realpathSync(process.env.npm_execpath ?? '/usr/lib/node_modules/npm/bin/npm-cli.js');
  cpSync(join(npm, '../..'), join(local, 'lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  const users = ['root:x:0:0::/root:/bin/sh', 'node:x:1000:1000::/home/node:/bin/sh', ''];
  writeFileSync(join(base, 'etc/passwd'), users.join('\n'));
  writeFileSync(join(base, 'etc/group'), 'root:x:0:\nnode:x:1000:\n');
  return base;
}

/** The registry and the certificates that npm uses on this machine. */
function npmConfiguration(): string {
  let user = '';
  try {
    user = readFileSync(process.env.npm_config_userconfig ?? join(homedir(), '.npmrc'), 'utf8');
  } catch {
    // There is none.
  }
  const registry = `registry=${run('npm', ['config', 'get', 'registry'])}`;
  const certificates = process.env.NODE_EXTRA_CA_CERTS
    ? [`cafile=${join(CA_FOLDER, 'ca-certificates.crt')}`]
    : [];
  return [user, registry, ...certificates, 'prefer-offline=true', ''].join('\n');
}

/** The folder of the packages that npm has downloaded on this machine. */
const npmCache = () => run('npm', ['config', 'get', 'cache']);

/** Runs a command to its end and returns what it prints. Throws with its errors if it fails. */
function run(command: string, args: string[], variables: Record<string, string> = {}): string {
  const env = { ...process.env, ...variables };
  return execFileSync(command, args, { encoding: 'utf8', env, maxBuffer: 2 ** 26 }).trim();
}
