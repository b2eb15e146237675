import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

/** An image that was built, and its root folder. */
export type Image = z.infer<typeof imageConfig> & { root: string };

const root = fileURLToPath(new URL('..', import.meta.url));
/** The base image of the Dockerfile. */
const BASE = 'docker.io/library/node:24-bookworm-slim';
const CA_FOLDER = '/etc/ssl/certs';

const imageConfig = z
  .object({
    Docker: z.object({
      config: z.object({
        User: z.string(),
        WorkingDir: z.string(),
        Env: z.array(z.string()),
        Entrypoint: z.array(z.string()),
        Healthcheck: z.object({ Test: z.tuple([z.literal('CMD')], z.string()) }),
      }),
    }),
  })
  .transform(({ Docker: { config } }) => ({
    user: config.User,
    workingFolder: config.WorkingDir,
    variables: Object.fromEntries(
      config.Env.map((line) => {
        const [name = '', value = ''] = line.split(/=(.*)/s, 2);
        return [name, value];
      }),
    ),
    command: config.Entrypoint,
    healthCheck: config.Healthcheck.Test.slice(1),
  }));

/** Builds the Dockerfile with buildah, on a stand-in for its base image. Keeps everything in the folder. */
export function buildImage(folder: string): Image {
  const buildah = buildahIn(folder);
  const base = buildah('from', 'scratch');
  buildah('add', '--quiet', base, createBaseRoot(folder), '/');
  buildah('commit', '--quiet', '--rm', base, BASE);

  const npmrc = join(folder, 'npmrc');
  writeFileSync(npmrc, npmConfiguration());
  buildah(
    'bud',
    '--quiet',
    '--pull-never',
    // The format of OCI has no health check.
    ...['--format', 'docker'],
    ...['--secret', `id=npmrc,src=${npmrc}`],
    ...['--volume', `${CA_FOLDER}:${CA_FOLDER}:ro`],
    ...['--tag', 'ledger-gateway'],
    root,
  );
  const config = JSON.parse(buildah('inspect', '--type', 'image', 'ledger-gateway'));
  const container = buildah('from', '--pull-never', 'ledger-gateway');
  return { ...imageConfig.parse(config), root: buildah('mount', container) };
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

/** Creates what the gateway uses of the base image: Debian, Node, npm, and the user `node`. */
function createBaseRoot(folder: string): string {
  const base = join(folder, 'base');
  run('debootstrap', ['--variant=minbase', 'bookworm', base]);
  rmSync(join(base, 'var/cache/apt'), { recursive: true });
  rmSync(join(base, 'var/lib/apt'), { recursive: true });
  run('chroot', [base, 'useradd', '--create-home', '--uid', '1000', 'node']);
  const local = join(base, 'usr/local');
  const npm = dirname(
    dirname(process.env.npm_execpath ?? '/usr/lib/node_modules/npm/bin/npm-cli.js'),
  );
  mkdirSync(join(local, 'lib/node_modules'), { recursive: true });
  cpSync(npm, join(local, 'lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(local, 'bin/npm'));
  cpSync(process.execPath, join(local, 'bin/node'));
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
  return [user, registry, ...certificates, ''].join('\n');
}

/** Runs a command to its end and returns what it prints. Throws with its errors if it fails. */
function run(command: string, args: string[], variables: Record<string, string> = {}): string {
  const env = { ...process.env, ...variables };
  return execFileSync(command, args, { encoding: 'utf8', env, maxBuffer: 2 ** 26 }).trim();
}
