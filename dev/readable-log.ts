import { PassThrough } from 'node:stream';
import { type Logger, pino } from 'pino';

export type ReadableLog = {
  readonly log: Logger;
  /** Prints the lines that were held until now, and from now on every line at once. */
  show(): Promise<void>;
};

/** Creates a log for people: a line is one sentence with its fields. Lines are held until `show`, so that other text can come first. */
export function createReadableLog(level: string): ReadableLog {
  const lines = new PassThrough();
  return {
    log: pino({ level, base: null }, lines),
    async show() {
      // The image of the demo has no packages for development, and prints JSON.
      if (process.env.NODE_ENV === 'production') lines.pipe(process.stdout);
      else lines.pipe(await readableOutput());
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
