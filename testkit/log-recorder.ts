import { EventEmitter, once } from 'node:events';
import { z } from 'zod';

export type LogLine = Record<string, unknown>;

const lineSchema = z.record(z.string(), z.unknown());

/** Collects the log lines of a gateway. */
export function createLogRecorder() {
  const lines: LogLine[] = [];
  const added = new EventEmitter();
  return {
    lines,
    /** Adds a line of JSON text. */
    add(text: string): void {
      lines.push(lineSchema.parse(JSON.parse(text)));
      added.emit('line');
    },
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
