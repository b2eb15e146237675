import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';

export function hasExited({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Ends a child process, and waits until it has exited. */
export async function endProcess(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGKILL',
): Promise<void> {
  if (hasExited(child)) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

/** Waits until a server prints a text, and ignores its further output. Throws if the server ends before. */
export async function whenPrinted(output: Readable, text: string): Promise<void> {
  let printed = '';
  for await (const chunk of output.iterator({ destroyOnReturn: false })) {
    printed += chunk;
    if (printed.includes(text)) break;
  }
  output.resume();
  if (!printed.includes(text)) throw new Error(`The server did not start: ${printed}`);
}
