import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { faults } from '../../test/simulation/faults.ts';
import type { Row, Scenario } from '../harness.ts';
import { forEach } from '../load.ts';

const SCHEDULES = Number(process.env.STRESS_SCHEDULES ?? 1_000_000);
/** The most that are tried to find a rule that was taken out. */
const SEARCHED = 40_000;
const CHUNK = 25_000;

const run = promisify(execFile);

/** Claims, completeness and settling keep their promises in virtual time, over a store in memory that fails by chance. */
export const intentsSimulated: Scenario = {
  name: 'intents-simulated',
  async run() {
    return [await keepPromises(), await findFaults()];
  },
};

/** Other seeds each time: the output names those that are to be run again. */
async function keepPromises(): Promise<Row> {
  const from = Math.floor(Date.now() / 1000);
  const chunks = Array.from({ length: Math.ceil(SCHEDULES / CHUNK) }, (_, n) => n * CHUNK);
  const broken: string[] = [];
  await forEach(availableParallelism(), chunks, async (at) => {
    const count = Math.min(CHUNK, SCHEDULES - at);
    const output = await simulate('--from', String(from + at), '--count', String(count));
    if (output !== undefined) broken.push(output);
  });
  return {
    claim: 'no promise about keys is broken, however the store, gateways and clients fail',
    measured: `${SCHEDULES} schedules from the seed ${from}: ${broken.length} of ${chunks.length} parts broke one. ${broken.join(' ')}`,
    holds: broken.length === 0,
  };
}

async function findFaults(): Promise<Row> {
  const names = Object.keys(faults);
  const missed: string[] = [];
  await forEach(availableParallelism(), names, async (name) => {
    const output = await simulate('--fault', name, '--count', String(SEARCHED));
    if (output === undefined) missed.push(name);
  });
  return {
    claim: `each rule that is taken out is found within ${SEARCHED} schedules`,
    measured: `${names.length - missed.length} of ${names.length}. ${missed.join(', ')}`,
    holds: missed.length === 0,
  };
}

/** Runs schedules. Resolves to how a promise was broken, if one was. */
async function simulate(...args: string[]): Promise<string | undefined> {
  try {
    await run(process.execPath, ['test/simulation/main.ts', ...args]);
    return undefined;
  } catch (error) {
    const { code, stdout } = Object(error);
    if (code !== 1 || !stdout) throw error;
    return String(stdout).replaceAll('\n', ' ');
  }
}
