import './lib/node-version.ts'; // First: everything else needs this version.
import module from 'node:module';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { StoreUnavailable } from '@ledger-gateway/at-most-once';
import closeWithGrace from 'close-with-grace';
import { ConfigError } from './errors/gateway-error.ts';
import type { Gateway } from './gateway.ts';
import { longestDelayMs } from './http/drain.ts';
import { createLog, LogOutput } from './telemetry/log.ts';

/* Runs the process: reads the options and the environment, starts the gateway, and handles signals. */

// In the first seconds of a load, V8 sees many requests alive at once. It would then allocate later, short-lived objects
// directly in the old generation, which is collected late (docs/decisions/0011).
setFlagsFromString('--no-allocation-site-pretenuring');
// Keeps compiled code for the next start, if the folder is writable (docs/decisions/0002).
module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/ledger-gateway'));
try {
  // What follows is imported here, so that the V8 settings apply to all of its code.
  const { readCommand } = await import('./command-line.ts');
  const command = await readCommand(process.argv.slice(2), process.env);
  if ('text' in command) {
    process.stdout.write(command.text);
    process.exit(0);
  }
  const { config } = command;
  const logOutput = new LogOutput();
  const log = createLog(config.logLevel, logOutput);
  let gateway: Gateway | undefined;
  // The first signal starts the shutdown. A second one, or the timeout, ends the process at once.
  const delay = longestDelayMs(config.http.shutdownDelayMs) + config.shutdownTimeoutMs;
  const giveUp = () => gateway?.logPendingWrites();
  const skip: closeWithGrace.Options['skip'] = ['uncaughtException', 'unhandledRejection'];
  const handlers = { onTimeout: giveUp, onSecondSignal: giveUp, skip };
  // After an unexpected error the state of the process is not known, so it does not drain. An unhandled rejection
  // becomes an uncaught exception.
  process.once('uncaughtException', ({ name, message, stack }) => {
    log.fatal({ error: { name, message, stack } }, 'unexpected error');
    giveUp();
    process.exit(1);
  });
  closeWithGrace({ delay, logger: log, ...handlers }, async ({ signal }) => {
    log.info({ signal }, 'draining');
    await gateway?.close();
    log.info('closed');
  });
  // The gateway is imported here, so that the signal handlers apply to all of its code.
  const { startGateway } = await import('./gateway.ts');
  gateway = await startGateway(config, log, logOutput);
} catch (error) {
  const isExpected =
    error instanceof ConfigError ||
    error instanceof StoreUnavailable ||
    (error instanceof Error && 'syscall' in error);
  process.stderr.write(`${error instanceof Error && !isExpected ? error.stack : error}\n`);
  process.exit(1);
}
