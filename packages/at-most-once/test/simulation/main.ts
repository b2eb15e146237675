import { parseArgs } from 'node:util';
import { install } from './virtual-time.ts';

/*
 * Runs schedules of gateways, a store and a client in virtual time, each of which follows from its seed. Exits with 1, and
 * prints how to run it again, when a promise is broken.
 *
 *   node packages/at-most-once/test/simulation/main.ts --count 1000 --from 1
 *   node packages/at-most-once/test/simulation/main.ts --seed 17      (prints what happens)
 *   node packages/at-most-once/test/simulation/main.ts --fault <name>
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    count: { type: 'string', default: '1000' },
    fault: { type: 'string' },
  },
});
const { seed, fault } = values;
const script = 'packages/at-most-once/test/simulation/main.ts';
const write = (line: string) => void process.stdout.write(`${line}\n`);

Error.stackTraceLimit = 0; // Most errors are expected, and a stack takes longer than the rest.
install();
if (fault !== undefined) (await import('./faults.ts')).putBack(fault);
const { Schedule } = await import('./schedule.ts');
const { Violation } = await import('./observer.ts');

const first = Number(seed ?? values.from);
const last = seed === undefined ? first + Number(values.count) - 1 : first;
for (let current = first; current <= last; current++) {
  try {
    await new Schedule(current, seed === undefined ? undefined : write).run();
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    write(`Seed ${current}: ${error.message}.`);
    write(`Run it again: node ${script} --seed ${current}${fault ? ` --fault "${fault}"` : ''}`);
    process.exit(1);
  }
}
write(`${last - first + 1} schedules: no promise was broken.`);
