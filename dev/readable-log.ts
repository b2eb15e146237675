import { PassThrough } from 'node:stream';
import { type Logger, pino } from 'pino';
import { createLogger } from '../src/telemetry/log.ts';

export type ReadableLog = {
  readonly log: Logger;
  /** Prints the lines that were held until now, and from now on every line at once. */
  show(): Promise<void>;
};

/**
 * Creates a log for people: a line is one sentence with its fields. Lines are held until `show`, so that other text can come
 * first. The image of the demo has no packages for development, so its log is that of the gateway.
 */
export function createReadableLog(level: string): ReadableLog {
  const lines = new PassThrough();
  const isDemo = process.env.NODE_ENV === 'production';
  const output = { write: (line: string) => void lines.write(line), writeNow: () => undefined };
  return {
    log: isDemo ? createLogger(level, output) : pino({ level, base: null }, lines),
    async show() {
      lines.pipe(isDemo ? process.stdout : await readableOutput());
    },
  };
}

async function readableOutput(): Promise<NodeJS.WritableStream> {
  const { default: pretty } = await import('pino-pretty');
  return pretty({
    singleLine: true,
    translateTime: 'SYS:HH:MM:ss',
    // The settings are a hundred lines, and `npm start -- --check-config` prints them. The caller is a long hash.
    ignore: 'settings,caller',
  });
}
