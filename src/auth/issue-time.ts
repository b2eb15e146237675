import type { JWTPayload } from 'jose';
import type { Logger } from 'pino';
import { createLineLimit } from '../telemetry/line-limit.ts';

/** How far in the future a token may have been issued without a log line, in seconds. */
const MAX_AHEAD_S = 60;

/**
 * Returns a function that logs, at most once a minute, when an issuer says that it issued a verified token in the future. The
 * token is accepted, as RFC 7519 says, but the clock of this machine or that of the issuer is wrong. When it is this one and
 * it is behind, tokens are also rejected as not yet valid.
 */
export function createIssueTimeCheck(log: Logger) {
  const mayLog = createLineLimit(1, 60_000);
  return ({ iat = 0, iss }: JWTPayload): void => {
    const aheadS = Math.round(iat - Date.now() / 1000);
    if (aheadS > MAX_AHEAD_S && mayLog()) {
      log.warn({ issuer: iss, aheadS }, 'token was issued in the future');
    }
  };
}
