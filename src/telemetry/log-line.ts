import type { LoggerOptions } from 'pino';
import { z } from 'zod';

/*
 * The format of the log (docs/reference/log-lines.md#format): how a line is written, and how it is read again. All other code
 * knows only the names in `logLine`, and the further fields of each message.
 */

/** The options of pino with which a line is written. */
export const lineOptions: LoggerOptions = { base: null };

/** What every line has, under the names of the code. If the log gets other names, `readLogLine` returns these. */
export const logLine = z.looseObject({
  /** 30 info, 40 warning, 50 error, 60 fatal. */
  level: z.number(),
  /** Milliseconds since 1970. */
  time: z.number(),
  msg: z.string(),
});

/** Reads a line of this or an earlier version, after a prefix such as that of `kubectl logs --prefix`. Undefined for other texts. */
export function readLogLine(text: string): z.infer<typeof logLine> | undefined {
  try {
    return logLine.safeParse(JSON.parse(text.slice(Math.max(0, text.indexOf('{'))))).data;
  } catch {
    return undefined;
  }
}
