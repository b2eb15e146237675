import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { LogOutput } from './log.ts';

const PREFIX = 'ledger_gateway_';

/** Upper bounds of durations, in seconds. The last is the default deadline of an operation. */
const DURATION_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The part of an output that was not written. */
export type LogBacklog = Pick<LogOutput, 'dropped' | 'heldBytes'>;

/** The metrics of Node and the process. Their observers never stop, so they are started once, and not by each gateway. */
const ofProcess = new Registry();
collectDefaultMetrics({ register: ofProcess });
// Gauges whose names end in `_total`, as only those of counters should.
for (const what of ['handles', 'requests', 'resources']) {
  ofProcess.removeSingleMetric(`nodejs_active_${what}_total`);
}

/** The metrics of a gateway. Each part registers its own, with labels of the code or the configuration, never of a client. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #outputs: Map<string, LogBacklog>;
  /** The media type of `text`. */
  readonly contentType: string = this.#registry.contentType;

  constructor(build: { version: string; commit: string }, log: LogBacklog) {
    const help = 'Always 1, with the version and the commit of the running gateway';
    this.gauge('build_info', help, () => 1, build);
    this.#outputs = new Map([['log', log]]);
    const outputs = this.#outputs;
    new Counter({
      name: `${PREFIX}log_lines_dropped_total`,
      help: 'Lines of the log and of the audit record dropped because the output did not accept them',
      labelNames: ['output'],
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const [output, { dropped }] of outputs) this.inc({ output }, dropped);
      },
    });
    const heldHelp = 'Bytes of the log and of the audit record not accepted at the moment';
    this.gauges('log_held_bytes', heldHelp, ['output'], () =>
      [...outputs].map(([output, { heldBytes }]) => [{ output }, heldBytes]),
    );
  }

  /** Measures an output beside the log. */
  watchOutput(name: string, output: LogBacklog): void {
    this.#outputs.set(name, output);
  }

  /** All metrics in Prometheus text format. */
  async text(): Promise<string> {
    return `${await ofProcess.metrics()}\n${await this.#registry.metrics()}`;
  }

  /** Give each label an initial value of 0: the first increase of a counter that was not there before is invisible to alerts. */
  counter<Label extends string>(name: string, help: string, ...labelNames: Label[]) {
    return new Counter({ name: PREFIX + name, help, labelNames, registers: [this.#registry] });
  }

  /** Measures seconds. */
  histogram<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    buckets = DURATION_BUCKETS,
  ) {
    const names = { name: PREFIX + name, help, labelNames };
    return new Histogram({ ...names, buckets, registers: [this.#registry] });
  }

  /** A gauge whose value is read at each scrape. */
  gauge(name: string, help: string, read: () => number, labels: Record<string, string> = {}): void {
    this.gauges(name, help, Object.keys(labels), () => [[labels, read()]]);
  }

  /** A gauge with several values, which are read at each scrape. */
  gauges<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    read: () => Iterable<[Record<Label, string>, number]>,
  ): void {
    new Gauge({
      name: PREFIX + name,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        for (const [labels, value] of read()) this.set(labels, value);
      },
    });
  }
}
