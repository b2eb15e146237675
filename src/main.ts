import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import closeWithGrace from 'close-with-grace';
import { type Logger, pino } from 'pino';
import { ConfigError, readConfig } from './config.ts';
import type { Gateway } from './gateway.ts';

/** How long a line of the log may wait for others, in milliseconds; and up to how many bytes of them. */
const LOG_FLUSH_MS = 100;
const LOG_BUFFER_BYTES = 8192;
/** What is kept while it cannot be written; what comes on top is lost. */
const MAX_UNWRITTEN_BYTES = 1_048_576;

// V8 would take what a request allocates for long-lived, after seeing much of it alive at once, and put all
// that follows straight among the old, where it is collected late (docs/decisions/0011).
setFlagsFromString('--no-allocation-site-pretenuring');

// What V8 compiles is kept for the next start, where it can be written (docs/decisions/0002). What this file
// imports is loaded by now: all the rest comes with the gateway, below.
enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/ledger-gateway'));

/** The process: environment, start, signals. */
try {
  const config = readConfig(process.env);
  const log = createLog(config.logLevel);
  let gateway: Gateway | undefined;
  // The first signal drains; a second one, or the delay, ends the process as it is.
  const delay = config.shutdownDelayMs + config.shutdownTimeoutMs;
  const abandon = () => gateway?.abandon();
  const ends = { onTimeout: abandon, onSecondSignal: abandon, onSecondError: abandon };
  closeWithGrace({ delay, logger: log, ...ends }, async ({ signal, err }) => {
    if (err)
      log.fatal({ error: { name: err.name, message: err.message, stack: err.stack } }, 'fault');
    log.info({ signal }, 'draining');
    await gateway?.close();
    log.info('closed');
  });
  const { startGateway } = await import('./gateway.ts');
  gateway = await startGateway(config, log);
} catch (error) {
  const plain = error instanceof ConfigError || (error instanceof Error && 'syscall' in error);
  process.stderr.write(`${error instanceof Error && !plain ? error.stack : error}\n`);
  process.exit(1);
}

/**
 * The log on stdout: lines are written together, unless one is a warning or worse, which goes at once.
 * Where stdout cannot be written any more, the gateway goes on without a log. In the background it would
 * cost a request a tenth more of its CPU.
 */
function createLog(level: string): Logger {
  const lines = pino.destination({
    sync: true,
    minLength: LOG_BUFFER_BYTES,
    maxLength: MAX_UNWRITTEN_BYTES,
  });
  lines.on('error', () => {});
  // Not flushSync, which waits for as long as a disk is full or a pipe is broken.
  const flush = () => lines.flush();
  setInterval(flush, LOG_FLUSH_MS).unref();
  process.once('exit', flush);
  const { info } = pino.levels.values;
  return pino(
    {
      level,
      base: null,
      hooks: {
        logMethod(line, write, level) {
          write.apply(this, line);
          if (info !== undefined && level > info) flush();
        },
      },
    },
    lines,
  );
}
