import { setTimeout as sleep } from 'node:timers/promises';
import type { Harness, Row } from '../harness.ts';
import { killOne, underLoad } from './stage.ts';

/** Kills the only gateway, and starts it again. */
export function killGateway(harness: Harness, store: string): Promise<Row[]> {
  const what = `${store.split(':')[0]}, kill -9 of the gateway`;
  return underLoad(harness, what, {
    store,
    count: 1,
    async fail(stage) {
      const startAgain = await killOne(stage, 0);
      await startAgain();
      await sleep(2000);
    },
  });
}
