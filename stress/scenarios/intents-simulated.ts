import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import type { Scenario } from '../harness.ts';
import { forEach } from '../load.ts';

const SCHEDULES = Number(process.env.STRESS_SCHEDULES ?? 1_000_000);
const CHUNK = 25_000;

const run = promisify(execFile);

/** Claims, completeness and settling keep their promises in virtual time, over a store in memory that fails by chance. */
export const intentsSimulated: Scenario = {
  name: 'intents-simulated',
  async run() {
    // Other seeds each time: the output names those that are to be run again.
    const from = Math.floor(Date.now() / 1000);
    const chunks = Array.from({ length: Math.ceil(SCHEDULES / CHUNK) }, (_, n) => n * CHUNK);
    const broken: string[] = [];
    await forEach(availableParallelism(), chunks, async (at) => {
      const count = Math.min(CHUNK, SCHEDULES - at);
      broken.push(...(await simulate(from + at, count)));
    });
    return [
      {
        claim: 'no promise about keys is broken, however the store, gateways and clients fail',
        measured: `${SCHEDULES} schedules from the seed ${from}: ${broken.length} of ${chunks.length} parts broke one. ${broken.join(' ')}`,
        holds: broken.length === 0,
      },
    ];
  },
};

/** Runs schedules. Resolves to how a promise was broken, if one was. */
async function simulate(from: number, count: number): Promise<string[]> {
  try {
    const args = ['--from', String(from), '--count', String(count)];
    await run(process.execPath, ['packages/at-most-once/test/simulation/main.ts', ...args]);
    return [];
  } catch (error) {
    const { code, stdout } = Object(error);
    if (code !== 1 || !stdout) throw error;
    return [String(stdout).replaceAll('\n', ' ')];
  }
}
