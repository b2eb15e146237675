import { setTimeout as sleep } from 'node:timers/promises';

/** How many requests may be in flight. A further one is not sent. */
const MAX_IN_FLIGHT = 4000;

/** An open loop: sends at a fixed rate, whether or not earlier requests have completed. */
export async function openLoop(
  perSecond: number,
  seconds: number,
  send: (n: number) => Promise<unknown>,
): Promise<void> {
  const start = performance.now();
  const inFlight = new Set<Promise<unknown>>();
  let n = 0;
  while (performance.now() - start < seconds * 1000) {
    const due = Math.floor(((performance.now() - start) / 1000) * perSecond);
    for (; n < due; n++) {
      if (inFlight.size >= MAX_IN_FLIGHT) continue;
      const sent = send(n);
      inFlight.add(sent);
      void sent.finally(() => inFlight.delete(sent));
    }
    await sleep(2);
  }
  await Promise.all(inFlight);
}

/** The numbers from 0, so many. */
export const numbers = (count: number) => Array.from({ length: count }, (_, n) => n);

/** Runs a task for each item, as many at a time as there are clients. */
export async function forEach<Item>(
  clients: number,
  items: Iterable<Item>,
  task: (item: Item) => Promise<unknown>,
): Promise<void> {
  const rest = Iterator.from(items);
  const client = async () => {
    for (const item of rest) await task(item);
  };
  await Promise.all(numbers(clients).map(client));
}
