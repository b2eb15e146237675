import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { closeAfterTest } from './cleanup.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Where Node keeps compiled code, so that processes start sooner. */
const compileCache = `${root}node_modules/.cache/processes`;

/**
 * Starts Node in the root folder, and kills the process after the test. Environment variables are not
 * inherited, because they may configure Node or OpenTelemetry.
 */
export function startProcess(
  args: string[],
  options: {
    env?: NodeJS.ProcessEnv;
    /** A file descriptor that receives standard output, instead of the test. */
    stdout?: number;
  } = {},
) {
  const { env = {}, stdout = 'pipe' } = options;
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { NODE_COMPILE_CACHE: compileCache, ...env },
    stdio: ['ignore', stdout, 'pipe'],
  });
  const exited = once(child, 'close').then(([code, signal]: unknown[]) => ({ code, signal }));
  closeAfterTest(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let running = true;
  void exited.then(() => {
    running = false;
  });
  const lines: string[] = [];
  let errorText = '';
  const output = new EventEmitter();
  child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
    errorText += chunk;
  });
  if (child.stdout) {
    createInterface(child.stdout).on('line', (line) => {
      lines.push(line);
      output.emit('line', line);
    });
  }

  return {
    /** The lines of standard output so far. */
    lines,
    /** Everything written to standard error so far. */
    errorText: () => errorText,
    onLine: (listener: (line: string) => void) => output.on('line', listener),
    /** Waits for a line of standard output that matches, and returns the first one's match. */
    async line(pattern: RegExp): Promise<RegExpExecArray> {
      for (;;) {
        for (const line of lines) {
          const match = pattern.exec(line);
          if (match) return match;
        }
        if (!running) throw new Error(`The process ended: ${lines.join('\n')}\n${errorText}`);
        await Promise.race([once(output, 'line'), exited]);
      }
    },
    /** Closes the pipe from which standard output is read. */
    closeStdout: () => child.stdout?.destroy(),
    signal: (name: NodeJS.Signals) => child.kill(name),
    /** How the process ended, once it has ended and its output is complete. */
    exited,
  };
}
