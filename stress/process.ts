import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { endProcess } from '../testkit/child-process.ts';
import { closeAfterTest } from '../testkit/cleanup.ts';

/** Starts a process that ends with the scenario, and with this process. */
export function startChild(command: string, args: string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, options);
  process.once('exit', () => child.kill('SIGKILL'));
  closeAfterTest(() => endProcess(child));
  return child;
}

/** The resident memory of a process, in MB; 0 once it has ended. */
export function residentMb(pid: number): number {
  if (!existsSync(`/proc/${pid}`)) return 0;
  // A process that has ended and was not waited for has no such line.
  const kb = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb ?? 0) / 1024;
}
