import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { LogOutput } from './log-output.ts';

/** Upper bounds of durations, in seconds. The last is the default deadline of an operation. */
export const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Gauges of the library whose names end in `_total`, as only those of counters should. */
const misnamed = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/**
 * The metrics of the process. Every part of the gateway registers its own, in a file beside its code. Their labels come
 * from the code or the configuration, never from a client.
 */
export function createRegistry(
  build: { version: string; commit: string },
  log: Pick<LogOutput, 'dropped'>,
): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);
  new Gauge({
    name: 'ledger_gateway_build_info',
    help: 'Always 1, with the version and the commit of the running gateway',
    labelNames: ['version', 'commit'],
    registers: [registry],
  }).set(build, 1);
  new Counter({
    name: 'ledger_gateway_log_lines_dropped_total',
    help: 'Log lines dropped because standard output did not accept them',
    registers: [registry],
    collect() {
      this.reset();
      this.inc(log.dropped);
    },
  });
  return registry;
}

/** Registers a gauge whose value is read at each scrape. */
export function registerGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => number,
): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
