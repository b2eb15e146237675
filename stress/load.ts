import { setTimeout as sleep } from 'node:timers/promises';

/**
 * An open loop: sends at a fixed rate, whether or not earlier requests have completed. A request that
 * would exceed `maxInFlight` is not sent.
 */
export async function openLoop(
  perSecond: number,
  seconds: number,
  send: (n: number) => Promise<unknown>,
  maxInFlight = 4000,
): Promise<void> {
  const start = performance.now();
  const inFlight = new Set<Promise<unknown>>();
  let n = 0;
  while (performance.now() - start < seconds * 1000) {
    const due = Math.floor(((performance.now() - start) / 1000) * perSecond);
    for (; n < due; n++) {
      if (inFlight.size >= maxInFlight) continue;
      const sent = send(n);
      inFlight.add(sent);
      void sent.finally(() => inFlight.delete(sent));
    }
    await sleep(2);
  }
  await Promise.all(inFlight);
}

/** A closed loop: every client sends its next request when its last one has completed. */
export function closedLoop(
  clients: number,
  seconds: number,
  send: (n: number) => Promise<unknown>,
): Promise<void> {
  const end = performance.now() + seconds * 1000;
  const untilEnd = function* () {
    for (let n = 0; performance.now() < end; n++) yield n;
  };
  return forEach(clients, untilEnd(), send);
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
