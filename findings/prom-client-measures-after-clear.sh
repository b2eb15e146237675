#!/usr/bin/env bash
# The default metrics of prom-client, and of its successor @prometheus-io/client, cannot be ended. Each `collectDefaultMetrics` starts a
# monitor of the event loop, which has a timer of 10 ms, and an observer of garbage collections. They go on after `register.clear()`, and
# keep the registry with all its metrics and what these read. So if the metrics of an app read its routes and caches, and a test file
# starts the app anew for each test, none of these apps is ever freed. Their documentation says that `clear()` removes all metrics.
#
# How to read the table: ten registries are filled and cleared, one after the other. "running" is the number of monitors and observers that
# then still run, and "kept" the number of registries that the garbage collector cannot free. The same of OpenTelemetry, for comparison.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the script.
#
#|                                                 running  kept
#| prom-client, a counter                          0        0
#| prom-client, collectDefaultMetrics              20       10
#| @prometheus-io/client, a counter                0        0
#| @prometheus-io/client, collectDefaultMetrics    20       10
#| OpenTelemetry, instrumentation-runtime-node     0        0
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm prom-client@15.1.3 @prometheus-io/client@0.16.1 @opentelemetry/api@1.10.0 @opentelemetry/instrumentation-runtime-node@0.37.0

cat > "$folder/observers.cjs" <<'END'
const hooks = require('node:perf_hooks');
const { setTimeout: pause } = require('node:timers/promises');

// Counts what is started and not stopped.
let running = 0;
const { monitorEventLoopDelay, PerformanceObserver } = hooks;
hooks.monitorEventLoopDelay = (options) => {
  const monitor = monitorEventLoopDelay(options);
  const { enable, disable } = monitor;
  monitor.enable = () => {
    running += 1;
    return enable.call(monitor);
  };
  monitor.disable = () => {
    running -= 1;
    return disable.call(monitor);
  };
  return monitor;
};
hooks.PerformanceObserver = class extends PerformanceObserver {
  observe(options) {
    running += 1;
    super.observe(options);
  }
  disconnect() {
    running -= 1;
    super.disconnect();
  }
};

/** Each one starts to measure, stops, and returns what should be free then. */
const ways = {};
for (const name of ['prom-client', '@prometheus-io/client']) {
  const { Registry, Counter, collectDefaultMetrics } = require(name);
  ways[`${name}, a counter`] = () => {
    const register = new Registry();
    new Counter({ name: 'a', help: 'a', registers: [register] }).inc();
    register.clear();
    return register;
  };
  ways[`${name}, collectDefaultMetrics`] = () => {
    const register = new Registry();
    collectDefaultMetrics({ register });
    register.clear();
    return register;
  };
}
const { RuntimeNodeInstrumentation } = require('@opentelemetry/instrumentation-runtime-node');
ways['OpenTelemetry, instrumentation-runtime-node'] = () => {
  const instrumentation = new RuntimeNodeInstrumentation();
  instrumentation.disable();
  return instrumentation;
};

async function main() {
  console.log(`${''.padEnd(47)} running  kept`);
  for (const [name, use] of Object.entries(ways)) {
    const before = running;
    const references = Array.from({ length: 10 }, () => new WeakRef(use()));
    for (let n = 0; n < 5; n += 1) {
      await pause(20);
      globalThis.gc();
    }
    const kept = references.filter((reference) => reference.deref()).length;
    console.log(`${name.padEnd(47)} ${String(running - before).padEnd(8)} ${kept}`);
  }
  process.exit();
}
void main();
END

measure() { "$node" --expose-gc "$folder/observers.cjs"; }
check
