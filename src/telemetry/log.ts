import { type Logger, pino } from 'pino';
import { currentRecord } from './request-record.ts';

/** The message of the line before each write, which is flushed immediately. */
export const SENT = 'sent';

/** How long a log line may be buffered, in milliseconds, and how many bytes. */
const FLUSH_MS = 100;
const BUFFER_BYTES = 8192;
/** Bytes that are kept while stdout is not writable. Lines beyond that are lost. */
const MAX_UNWRITTEN_BYTES = 1_048_576;

/**
 * The log on stdout. Lines are written in batches, but warnings, errors and the audit trail of writes
 * immediately. If stdout is not writable, the gateway continues without a log.
 */
export function createLog(level: string): Logger {
  const lines = pino.destination({
    sync: true, // A worker thread would cost more CPU time.
    minLength: BUFFER_BYTES,
    maxLength: MAX_UNWRITTEN_BYTES,
  });
  lines.on('error', () => {});
  // Not flushSync, which waits while a disk is full or a pipe is broken.
  const flush = () => lines.flush();
  setInterval(flush, FLUSH_MS).unref();
  process.once('exit', flush);
  const { info } = pino.levels.values;
  return pino(
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
          if ((info !== undefined && level > info) || line.at(1) === SENT) flush();
        },
      },
    },
    lines,
  );
}
