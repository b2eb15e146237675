import type { Logger } from 'pino';
import { createLineLimit } from './line-limit.ts';

/** How far two clocks may differ without a log line, in milliseconds. */
const MAX_DIFFERENCE_MS = 60_000;

export type HostClock = ReturnType<typeof createHostClock>;

/**
 * Compares the clock of this host with others, and logs at most once a minute for each that they differ. Tokens are rejected as
 * expired or as not yet valid while this one is wrong. Which one is wrong is not known, unless several others agree.
 */
export function createHostClock(log: Logger) {
  const limits = new Map<string, () => boolean>();
  /** Compares it with the time that another clock shows now, in milliseconds. `other` says whose clock that is. */
  function compare(other: string, time: number): void {
    const differenceMs = Date.now() - time;
    if (!(Math.abs(differenceMs) > MAX_DIFFERENCE_MS)) return; // Also if the time is not a number.
    const mayLog = limits.get(other) ?? createLineLimit(1, 60_000);
    limits.set(other, mayLog);
    const fault = `${differenceMs > 0 ? 'ahead of' : 'behind'} that of ${other}`;
    const seconds = Math.round(Math.abs(differenceMs) / 1000);
    if (mayLog()) log.warn({ fault, seconds }, 'clock of this host differs');
  }
  return {
    compare,
    /** Compares it with the headers `Date` and `Age` of a response that has just arrived. */
    compareDate(other: string, date: string | null | undefined, age?: string | null): void {
      if (date) compare(other, Date.parse(date) + Number(age ?? 0) * 1000);
    },
  };
}
