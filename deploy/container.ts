import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { hasExited } from '../testkit/child-process.ts';
import type { Image } from './build-image.ts';

/**
 * Runs a command of an image, by default its own, as a container runtime does: on a read-only root without a
 * writable folder, as the image's user without rights, in its own process namespace. The network is this machine's.
 */
export async function startContainer(
  image: Image,
  variables: Record<string, string>,
  command = image.Entrypoint,
) {
  const [user = '', group = ''] = image.User.split(':');
  const given = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const child = spawn(
    'bwrap',
    [
      ...['--ro-bind', image.root, '/', '--proc', '/proc', '--dev', '/dev'],
      ...['--unshare-pid', '--as-pid-1', '--die-with-parent', '--info-fd', '3'],
      ...['--chdir', image.WorkingDir, '--clearenv'],
      ...[...image.Env, ...given].flatMap((line) => ['--setenv', ...line.split(/=(.*)/s, 2)]),
      // It replaces itself by the command.
      ...['setpriv', '--reuid', user, '--regid', group, '--clear-groups', '--no-new-privs'],
      ...command,
    ],
    { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
    });
  }
  const exited = once(child, 'close').then(([code]: unknown[]) => code);
  const [, , , infoStream] = child.stdio;
  const info = infoStream instanceof Readable ? await text(infoStream) : '';
  return {
    /** The process of the image's command, as this machine sees it. Inside, it is process 1. */
    pid: z.object({ 'child-pid': z.number() }).parse(JSON.parse(info))['child-pid'],
    /** Everything that the container has printed. */
    output: () => output,
    /** The exit code, once the container has exited. */
    exited,
    hasExited: () => hasExited(child),
  };
}
