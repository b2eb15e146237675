import closeWithGrace from 'close-with-grace';
import { pino } from 'pino';
import { ConfigError, readConfig } from './config.ts';
import { type Gateway, startGateway } from './gateway.ts';

/** The process: environment, start, signals. */
try {
  const config = readConfig(process.env);
  const log = pino({ level: config.logLevel, base: null });
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
  gateway = await startGateway(config, log);
} catch (error) {
  const plain = error instanceof ConfigError || (error instanceof Error && 'syscall' in error);
  process.stderr.write(`${error instanceof Error && !plain ? error.stack : error}\n`);
  process.exit(1);
}
