#!/usr/bin/env bash
# Which clocks and timers a test controls if it replaces them with the defaults of its test runner, and then advances the time. No runner
# replaces all of them. `AbortSignal.timeout` stays in real time in sinon, Jest and Vitest, so a test of a timeout never sees it. node:test
# replaces `AbortSignal.timeout`, but neither `performance.now` nor `process.hrtime`, so each measured duration is about zero. Its timers
# ignore `refresh()`, so that an idle timeout ends a connection that is in use. A timer of the module `node:timers` or
# `node:timers/promises` is real in some of them.
#
# How to read the table: what the clock of the row does after it was advanced by 1.2 seconds. "fake": it has advanced, or the timer of one
# second has ended. "real": it has not. "refresh()": a timer of one second that was refreshed after 0.6 seconds "waits", or has "ended". In
# Node without a fake clock, it waits.
#
# Seen on 2026-11-29 with Node 24.21.0 and the versions in the table.
#
#|               Date.now         performance.now  process.hrtime   AbortSignal      node:timers      timers/promises  refresh()
#| node:test     fake             real             real             fake             fake             fake             ended
#| sinon 22.1.0  fake             fake             fake             real             fake             fake             waits
#| Jest 30.5.2   fake             fake             fake             real             real             real             waits
#| Vitest 5.1.2  fake             fake             fake             real             real             real             waits
. "$(dirname "$0")/common.sh"

need npm:npm
install_from_npm sinon@22.1.0 jest@30.5.2 vitest@5.1.2

cat > "$folder/probe.cjs" <<'END'
const timers = require('node:timers');
const promises = require('node:timers/promises');
const { appendFileSync } = require('node:fs');

const row = (...cells) => appendFileSync('table', `${cells.map((cell, index) => cell.padEnd(index ? 17 : 14)).join('').trimEnd()}\n`);

/** Adds a row for a fake clock. `advance` moves it forward by milliseconds. */
exports.probe = async (name, start, advance, stop) => {
  start();
  const begin = [Date.now(), performance.now(), Number(process.hrtime.bigint()) / 1e6];
  const ended = new Set();
  const signal = AbortSignal.timeout(1000);
  timers.setTimeout(() => ended.add('timers'), 1000);
  promises.setTimeout(1000).then(() => ended.add('promises'));
  const refreshed = setTimeout(() => ended.add('refreshed'), 1000);
  await advance(600);
  refreshed.refresh();
  await advance(600);
  for (let turn = 0; turn < 10; turn++) await null;
  const end = [Date.now(), performance.now(), Number(process.hrtime.bigint()) / 1e6];
  stop();
  const areFake = [...end.map((time, index) => time - begin[index] > 1100), signal.aborted, ended.has('timers'), ended.has('promises')];
  row(name, ...areFake.map((isFake) => (isFake ? 'fake' : 'real')), ended.has('refreshed') ? 'ended' : 'waits');
};
exports.row = row;
END
cat > "$folder/runners.cjs" <<'END'
const { mock } = require('node:test');
const sinon = require('sinon');
const { probe, row } = require('./probe.cjs');

row('', 'Date.now', 'performance.now', 'process.hrtime', 'AbortSignal', 'node:timers', 'timers/promises', 'refresh()');
(async () => {
  let clock;
  await probe('node:test', () => mock.timers.enable(), async (ms) => mock.timers.tick(ms), () => mock.timers.reset());
  await probe('sinon 22.1.0', () => (clock = sinon.useFakeTimers()), (ms) => clock.tickAsync(ms), () => clock.restore());
  process.exit();
})();
END
cat > "$folder/jest.test.cjs" <<'END'
const { probe } = require('./probe.cjs');
test('Jest', () => probe('Jest 30.5.2', () => jest.useFakeTimers(), (ms) => jest.advanceTimersByTimeAsync(ms), () => jest.useRealTimers()));
END
cat > "$folder/vitest.spec.mjs" <<'END'
import { test, vi } from 'vitest';
import { probe } from './probe.cjs';
test('Vitest', () => probe('Vitest 5.1.2', () => vi.useFakeTimers(), (ms) => vi.advanceTimersByTimeAsync(ms), () => vi.useRealTimers()));
END

run_all() {
  cd "$folder"
  "$node" runners.cjs
  "$node" node_modules/.bin/jest --rootDir . --testMatch '**/jest.test.cjs'
  "$node" node_modules/.bin/vitest run vitest.spec.mjs
}

measure() {
  (run_all) > "$folder/output" 2>&1 || cat "$folder/output" >&2
  cat "$folder/table"
}
check
