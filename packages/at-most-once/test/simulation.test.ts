import { expect, test } from '@jest/globals';
import { startProcess } from '../../../testkit/process.ts';
import { faults } from './simulation/faults.ts';

/** Runs schedules, and returns the output. */
async function simulate(...args: string[]): Promise<string> {
  const { exited, lines, errorText } = startProcess([
    'packages/at-most-once/test/simulation/main.ts',
    ...args,
  ]);
  const { code } = await exited;
  return `${lines.join('\n')}${errorText()}, exit code ${code}`;
}

test('no promise is broken in some thousand schedules', async () => {
  const output = await simulate('--from', '1', '--count', '3000');
  expect(output).toBe('3000 schedules: no promise was broken., exit code 0');
});

const cases = Object.entries(faults).map(([name, [, , , seed]]) => [name, seed] as const);

test.each(cases)('that %s is found, and the seed finds it again', async (name, seed) => {
  const output = await simulate('--fault', name, '--seed', String(seed));
  expect(output).toContain(`\nSeed ${seed}: `);
  expect(output).toContain(
    `\nRun it again: node packages/at-most-once/test/simulation/main.ts --seed ${seed} --fault "${name}", exit code 1`,
  );
});
