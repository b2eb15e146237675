/**
 * How often new requests may extend the delay before the port closes. With the default delay of 2 s, they extend it to
 * 8 s. HAProxy takes up to 6 s to notice a shutdown if its health check has the default settings.
 */
const MAX_DELAYS = 4;

/** The longest time from the signal until the port closes, in milliseconds. */
export function longestDelayMs(shutdownDelayMs: number): number {
  return shutdownDelayMs * MAX_DELAYS;
}
