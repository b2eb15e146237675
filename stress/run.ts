import { parseArgs } from 'node:util';
import { closeAll } from '../testkit/cleanup.ts';
import { type Row, type Scenario, withHarness } from './harness.ts';
import { closing } from './scenarios/closing.ts';
import { faults } from './scenarios/faults.ts';
import { freeze } from './scenarios/freeze.ts';
import { intents } from './scenarios/intents.ts';
import { intentsSimulated } from './scenarios/intents-simulated.ts';
import { intentsOfStores } from './scenarios/intents-store.ts';
import { oneCaller } from './scenarios/one-caller.ts';
import { surplusResponses } from './scenarios/surplus.ts';

/**
 * `npm run stress`: runs real gateway processes under load and faults, on the loopback interface. It
 * prints each claim with what was measured, and exits with 1 if a claim does not hold.
 *
 * `--only <name>,<name>` runs some of the scenarios. Each may take an hour; `STRESS_REPETITIONS` and
 * `STRESS_STORES` (scenarios/intents-store.ts) make those of stores longer, or select some of them.
 */
const scenarios: Scenario[] = [
  ...faults,
  surplusResponses,
  closing,
  oneCaller,
  freeze,
  intents,
  intentsSimulated,
  ...intentsOfStores,
];

const { only } = parseArgs({ options: { only: { type: 'string' } } }).values;
const names = only?.split(',') ?? scenarios.map(({ name }) => name);
const selected = scenarios.filter(({ name }) => names.includes(name));
if (selected.length < names.length) {
  process.stderr.write(
    `Unknown scenario. Known: ${scenarios.map(({ name }) => name).join(', ')}\n`,
  );
  process.exit(1);
}

const end = (code: number) => void closeAll().finally(() => process.exit(code));
process.once('SIGINT', () => end(130));
process.once('SIGTERM', () => end(143));
let [passed, failed] = [0, 0];
for (const { name, run } of selected) {
  const start = performance.now();
  const timer = setTimeout(() => {
    process.stderr.write(`${name} did not end within an hour.\n`);
    end(1);
  }, 3_600_000);
  const rows = await withHarness(run).catch((error: unknown): Row[] => [
    { claim: 'the scenario runs', measured: String(error), holds: false },
  ]);
  clearTimeout(timer);
  for (const { claim, measured, holds } of rows) {
    if (holds) passed += 1;
    else failed += 1;
    process.stdout.write(`| ${name} | ${claim} | ${measured} | ${holds ? 'pass' : 'FAIL'} |\n`);
  }
  process.stdout.write(`(${name}: ${((performance.now() - start) / 1000).toFixed(0)} s)\n`);
}

process.stdout.write(`${passed} pass, ${failed} fail.\n`);
process.exit(failed === 0 ? 0 : 1);
