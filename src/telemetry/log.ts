import { type Logger, pino } from 'pino';
import type { LogOutput } from './log-output.ts';
import { currentRecord } from './request-record.ts';

/** How long a log line may be buffered, in milliseconds. */
const FLUSH_MS = 100;
/** How long the exit may wait for a slow reader of the log, in milliseconds. */
const EXIT_MS = 1000;

/**
 * The log. Lines are written in batches, but warnings and errors immediately. Its `flush` calls back when
 * the lines so far are written.
 * If the output accepts no lines, the gateway continues without a log, and logs their number afterwards.
 */
export function createLog(level: string, output: LogOutput): Logger {
  const { info } = pino.levels.values;
  const log = pino(
    {
      level,
      base: null,
      mixin() {
        const { traceId } = currentRecord.getStore() ?? {};
        return traceId === undefined ? {} : { traceId };
      },
      hooks: {
        logMethod(line, write, level) {
          write.apply(this, line);
          if (info !== undefined && level > info) output.writeNow();
        },
      },
    },
    output,
  );
  let reported = 0;
  setInterval(() => {
    const isWritten = output.writeNow() === undefined;
    const dropped = output.dropped - reported;
    if (!isWritten || dropped === 0) return;
    reported = output.dropped;
    log.warn({ dropped }, 'log lines dropped');
  }, FLUSH_MS).unref();
  process.once('exit', () => output.flushBeforeExit(EXIT_MS));
  return log;
}
