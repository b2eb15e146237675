import { inWorld, type Row, type Scenario } from './harness.ts';
import { deadline } from './scenarios/deadline.ts';
import { gone } from './scenarios/gone.ts';
import { idle } from './scenarios/idle.ts';
import { isolation } from './scenarios/isolation.ts';
import { memory } from './scenarios/memory.ts';
import { outage } from './scenarios/outage.ts';
import { overload } from './scenarios/overload.ts';
import { rolling } from './scenarios/rolling.ts';

/**
 * `npm run stress`: real gateway processes under load and faults, on the loopback alone. It prints
 * what is claimed beside what was measured, and exits with 1 where a claim does not hold.
 *
 * `--only <name>` runs one scenario.
 */
const scenarios: Scenario[] = [deadline, outage, idle, overload, memory, gone, rolling, isolation];

const only = process.argv.includes('--only')
  ? process.argv[process.argv.indexOf('--only') + 1]
  : undefined;
const chosen = scenarios.filter(({ name }) => only === undefined || name === only);
if (chosen.length === 0) {
  process.stderr.write(`There is: ${scenarios.map(({ name }) => name).join(', ')}\n`);
  process.exit(1);
}

process.setMaxListeners(0);
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
setTimeout(() => {
  process.stderr.write('It did not end within ten minutes.\n');
  process.exit(1);
}, 600_000).unref();

const table: string[][] = [];
let failed = 0;
for (const { name, run } of chosen) {
  const start = performance.now();
  const rows = await inWorld(run).catch((error: unknown): Row[] => [
    { claim: 'the scenario runs', measured: String(error), holds: false },
  ]);
  for (const { claim, measured, holds } of rows) {
    const line = [name, claim, measured, holds ? 'pass' : 'FAIL'];
    table.push(line);
    if (!holds) failed += 1;
    process.stdout.write(`${line.join(' | ')}\n`);
  }
  process.stdout.write(`(${name}: ${((performance.now() - start) / 1000).toFixed(0)} s)\n`);
}

const head = ['scenario', 'claim', 'measured', ''];
const widths = head.map((_, n) =>
  Math.max(3, ...[head, ...table].map((line) => line[n]?.length ?? 0)),
);
const lineOf = (cells: string[]) =>
  `| ${cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(' | ')} |`;
const lines = [head, widths.map((width) => '-'.repeat(width)), ...table].map(lineOf);
process.stdout.write(`\n${lines.join('\n')}\n\n${table.length - failed} hold, ${failed} do not.\n`);
process.exit(failed === 0 ? 0 : 1);
