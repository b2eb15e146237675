import type { JWTPayload } from 'jose';
import type { Logger } from 'pino';

/** How far in the future a token may have been issued without a log line, in seconds. */
const MAX_AHEAD_S = 60;
/** The least time between two lines, in milliseconds. */
const LOG_INTERVAL_MS = 60_000;

/**
 * Returns a function that logs when an issuer says that it issued a verified token in the future. The token is accepted, as
 * RFC 7519 says, but the clock of this machine or that of the issuer is wrong. When it is this one and it is behind, tokens
 * are also rejected as not yet valid.
 */
export function createIssueTimeCheck(log: Logger) {
  let loggedAt = Number.NEGATIVE_INFINITY;
  return ({ iat = 0, iss }: JWTPayload): void => {
    const aheadS = Math.round(iat - Date.now() / 1000);
    const now = performance.now();
    if (aheadS <= MAX_AHEAD_S || now - loggedAt < LOG_INTERVAL_MS) return;
    loggedAt = now;
    log.warn({ issuer: iss, aheadS }, 'token was issued in the future');
  };
}
