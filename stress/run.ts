import { type Row, type Scenario, withHarness } from './harness.ts';
import { bodies } from './scenarios/bodies.ts';
import { circuitIsolation } from './scenarios/circuit-isolation.ts';
import { clientDisconnect } from './scenarios/client-disconnect.ts';
import { deadline } from './scenarios/deadline.ts';
import { fairness } from './scenarios/fairness.ts';
import { idle } from './scenarios/idle.ts';
import { intents } from './scenarios/intents.ts';
import { intentsStore } from './scenarios/intents-store.ts';
import { isolation } from './scenarios/isolation.ts';
import { logReader } from './scenarios/log-reader.ts';
import { longLists } from './scenarios/long-lists.ts';
import { memory } from './scenarios/memory.ts';
import { oneCaller } from './scenarios/one-caller.ts';
import { outage } from './scenarios/outage.ts';
import { overload } from './scenarios/overload.ts';
import { queue } from './scenarios/queue.ts';
import { references } from './scenarios/references.ts';
import { rolling } from './scenarios/rolling.ts';
import { slowBodies } from './scenarios/slow-bodies.ts';
import { surplusResponses } from './scenarios/surplus-responses.ts';

/**
 * `npm run stress`: runs real gateway processes under load and faults, on the loopback interface. It
 * prints each claim with what was measured, and exits with 1 if a claim does not hold.
 *
 * `--only <name>,<name>` runs some of the scenarios. Each may take half an hour; `STRESS_REPETITIONS` and
 * `STRESS_STORES` (scenarios/intents-store.ts) make one longer or shorter.
 */
const scenarios: Scenario[] = [
  deadline,
  outage,
  idle,
  overload,
  memory,
  longLists,
  bodies,
  slowBodies,
  references,
  oneCaller,
  clientDisconnect,
  rolling,
  isolation,
  surplusResponses,
  circuitIsolation,
  fairness,
  queue,
  logReader,
  intents,
  intentsStore,
];

const only = process.argv.includes('--only')
  ? process.argv[process.argv.indexOf('--only') + 1]?.split(',')
  : undefined;
const selected = scenarios.filter(({ name }) => only?.includes(name) ?? true);
if (selected.length === 0) {
  process.stderr.write(
    `Unknown scenario. Known: ${scenarios.map(({ name }) => name).join(', ')}\n`,
  );
  process.exit(1);
}

process.setMaxListeners(0);
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
const table: string[][] = [];
let failed = 0;
for (const { name, run } of selected) {
  const start = performance.now();
  const timer = setTimeout(() => {
    process.stderr.write(`${name} did not end within half an hour.\n`);
    process.exit(1);
  }, 1_800_000);
  const rows = await withHarness(run).catch((error: unknown): Row[] => [
    { claim: 'the scenario runs', measured: String(error), holds: false },
  ]);
  clearTimeout(timer);
  for (const { claim, measured, holds } of rows) {
    const cells = [name, claim, measured, holds ? 'pass' : 'FAIL'];
    table.push(cells);
    if (!holds) failed += 1;
    process.stdout.write(`${cells.join(' | ')}\n`);
  }
  process.stdout.write(`(${name}: ${((performance.now() - start) / 1000).toFixed(0)} s)\n`);
}

process.stdout.write(`\n${toMarkdown(table)}\n\n${table.length - failed} pass, ${failed} fail.\n`);
process.exit(failed === 0 ? 0 : 1);

function toMarkdown(rows: string[][]): string {
  const head = ['scenario', 'claim', 'measured', ''];
  const widths = head.map((_, n) =>
    Math.max(3, ...[head, ...rows].map((cells) => cells[n]?.length ?? 0)),
  );
  const rule = widths.map((width) => '-'.repeat(width));
  return [head, rule, ...rows]
    .map((cells) => `| ${cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(' | ')} |`)
    .join('\n');
}
