import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFakeClock } from '../../testkit/fake-clock.ts';
import { startPostgres } from '../../testkit/postgres.ts';
import { startRedis } from '../../testkit/redis.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { type Harness, type Row, until } from '../harness.ts';
import { killAll, type Stage, underLoad, whenBack } from './stage.ts';

/** By how many hours the clock of the store is ahead of that of the system, in turns; at last it is before the store's creation. */
const STEPS_H = [4, 3, 2, 1, 0, -1];

type Clock = Awaited<ReturnType<typeof createFakeClock>>;

/** Starts a store with a clock of its own. A file has that of its gateway. */
const stores = {
  file: async ({ env }: Clock) => ({
    store: `file:${join(await temporaryFolder(), 'keys.db')}`,
    count: 1,
    variables: env,
  }),
  redis: async ({ env }: Clock) => ({ store: (await startRedis({ env })).url }),
  postgres: async ({ env }: Clock) => ({ store: (await startPostgres({ env })).url }),
};

/** Sets the clock of a store back and forward, each time while all gateways die. */
export const stepClock =
  (name: keyof typeof stores) =>
  async (harness: Harness): Promise<Row[]> => {
    const clock = await createFakeClock();
    const fail = async (stage: Stage, n: number) => {
      await sleep(1000);
      await until(() => stage.ledger.inFlight() > 0, 10_000);
      const startAgain = await killAll(stage);
      await clock.set((STEPS_H[n % STEPS_H.length] ?? 0) * 3600);
      await startAgain();
      await whenBack(stage);
      await sleep(2000);
    };
    const what = `${name}, clock set back by an hour, and forward`;
    return underLoad(harness, what, { ...(await stores[name](clock)), fail });
  };
