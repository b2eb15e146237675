import { EventEmitter, once } from 'node:events';
import type { Logger } from 'pino';
import { z } from 'zod';
import { createLogger } from '../src/telemetry/log.ts';

export type LogLine = Record<string, unknown>;

const logLine = z.record(z.string(), z.unknown());

/** The text of what is logged, as the gateway writes it. */
export function textOfLog(write: (log: Logger) => void): string {
  let text = '';
  const output = {
    write(line: string) {
      text += line;
    },
    writeNow: () => undefined,
  };
  write(createLogger('info', output));
  return text;
}

/** Collects the log lines of a gateway. */
export function createLogRecorder() {
  const lines: LogLine[] = [];
  const added = new EventEmitter();
  /** Adds a line of the log, or of the audit record, which may share its output. */
  const add = (text: string): void => {
    lines.push(logLine.parse(JSON.parse(text)));
    added.emit('line');
  };
  return {
    lines,
    add,
    /** Creates a logger with the format of production, whose lines are collected. `more` has other methods of its output. */
    createLogger: (level = 'info', more: object = {}) =>
      createLogger(level, { write: add, writeNow: () => undefined, ...more }),
    /** Waits for a line with these properties, and returns the first one. */
    async line(wanted: LogLine): Promise<LogLine> {
      for (;;) {
        const found = lines.find((line) =>
          Object.entries(wanted).every(([key, value]) => line[key] === value),
        );
        if (found) return found;
        await once(added, 'line');
      }
    },
  };
}
