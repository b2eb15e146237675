import type { Row, RunningGateway } from './harness.ts';

/** How long a request may block the event loop: 100 ms, and as much again for a busy machine. */
const MAX_BLOCKED_MS = 200;

/** Runs `task`, and measures how long the event loop of a gateway was blocked at most meanwhile. */
export async function whileMeasuring<Result>(
  gateway: RunningGateway,
  task: () => Promise<Result>,
): Promise<{ result: Result; row: Row }> {
  const longestMs = async () => (await gateway.metric('nodejs_eventloop_lag_max_seconds')) * 1000;
  await longestMs(); // Each scrape starts a new measurement.
  const result = await task();
  const ms = await longestMs();
  return {
    result,
    row: {
      claim: `meanwhile, the event loop is never blocked for more than ${MAX_BLOCKED_MS} ms`,
      measured: `${ms.toFixed(0)} ms`,
      holds: ms <= MAX_BLOCKED_MS,
    },
  };
}
