import { closeSync, fstatSync, openSync, readSync, statSync } from 'node:fs';
import type { Logger } from 'pino';
import { ConfigError } from '../errors/gateway-error.ts';
import { escapeJson, toJson } from '../lib/json.ts';
import { LogOutput } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { AuditLine } from './audit-line.ts';

/** Milliseconds between checks whether the file was renamed. */
const CHECK_MS = 1000;
/** A file descriptor that accepts nothing. */
const NO_FILE = -1;

export type AuditOutput = {
  /** Writes a line at the end of this iteration of the event loop, as far as the output accepts it. */
  write(line: AuditLine): void;
  /** Writes what is left, for a second at most. */
  close(): void;
};

/** The output of the setting AUDIT: standard output, which the log shares, or a file. Throws a ConfigError if it cannot be opened. */
export function createAuditOutput(
  setting: string,
  stdout: Pick<LogOutput, 'write' | 'flush'>,
  { log, metrics }: { log: Logger; metrics: Metrics },
): AuditOutput {
  const path = auditPathOf(setting);
  const file = path === undefined ? undefined : openFile(path, log, metrics);
  const output = file?.output ?? stdout;
  return {
    write(line) {
      output.write(textOf(line));
      output.flush();
    },
    close() {
      file?.close();
    },
  };
}

/** The file that the setting AUDIT names. Undefined if it names none. */
export const auditPathOf = (setting: string) => /^file:(.+)/s.exec(setting)?.[1];

export const cannotOpen = (path: string, code: string) =>
  `AUDIT: ${path} cannot be opened: ${code}`;

/** A line of JSON. Characters that some readers take as the end of a line are escaped: Node's `readline`, for example. */
function textOf(line: AuditLine): string {
  return `${escapeJson(toJson(line), /[\u007f-\u009f\u2028\u2029]/g)}\n`;
}

function open(path: string): number {
  try {
    return openSync(path, 'a+', 0o640);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error;
    throw new ConfigError(cannotOpen(path, String(code)));
  }
}

/** Whether the last line of a file has no end, because its process was killed or the disk was full. */
function isCut(fd: number): boolean {
  const last = Buffer.alloc(1);
  const { size } = fstatSync(fd);
  return size > 0 && readSync(fd, last, 0, 1, size - 1) > 0 && last.toString() !== '\n';
}

/** Opens a file for appending, and again when it was renamed or removed, as programs that rotate files do. */
function openFile(path: string, log: Logger, metrics: Metrics) {
  let fd = open(path);
  const output = new LogOutput(fd);
  if (isCut(fd)) output.write('\n');
  metrics.watchOutput('audit', output);
  const reportDropped = () => {
    const lines = output.droppedSinceLast();
    if (lines === 0) return;
    const line: AuditLine = { audit: 'dropped', time: new Date().toISOString(), lines };
    output.write(textOf(line));
    log.warn({ dropped: lines }, 'audit lines dropped');
  };
  const check = () => {
    if (output.heldBytes === 0) reportDropped();
    const there = statSync(path, { throwIfNoEntry: false });
    const own = fstatSync(fd);
    if (there?.ino === own.ino && there.dev === own.dev) return;
    // A file that was removed accepts lines, and keeps none. They wait until there is another one.
    if (own.nlink === 0) output.switchTo(NO_FILE);
    const next = open(path);
    output.switchTo(next);
    closeSync(fd);
    fd = next;
  };
  let isFailing = false;
  const timer = setInterval(() => {
    try {
      check();
      isFailing = false;
    } catch (error) {
      if (!isFailing) log.error({ error: { message: String(error) } }, 'cannot open audit file');
      isFailing = true;
    }
  }, CHECK_MS).unref();
  return {
    output,
    close() {
      clearInterval(timer);
      output.flushBeforeExit();
      output.dropHeld();
      reportDropped();
      output.flushBeforeExit(); // The file stays open for what ends late.
    },
  };
}
