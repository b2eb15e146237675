import { setTimeout as sleep } from 'node:timers/promises';
import { send, stop } from './children.ts';
import { checkResponses, measure, type Round, warmUp } from './measure.ts';
import {
  type Credentials,
  ours,
  type Running,
  startLoad,
  startPeer,
  startService,
} from './peers.ts';
import { isRedisInstalled, type StoreName, storeNames } from './stores.ts';
import { changeOf, markdown, quantile } from './table.ts';
import { requestOf, type Workload, workloadNamed } from './workloads.ts';

/** The rounds of one gateway, in pairs: a round of writes without keys next to one with keys. */
export type StoreResult = { store: StoreName; rounds: { keyless: Round; keyed: Round }[] };

/** The selected stores, without those that cannot be started here. */
export function selectStores(names: string): { stores: StoreName[]; isRedisMissing: boolean } {
  const selected = names.split(',').map((name) => {
    const store = storeNames.find((known) => known === name);
    if (store === undefined) throw new Error(`Unknown store ${name}. Known: ${storeNames}`);
    return store;
  });
  const isRedisMissing = selected.some((name) => name.startsWith('redis')) && !isRedisInstalled();
  const stores = selected.filter((name) => !isRedisMissing || !name.startsWith('redis'));
  return { stores, isRedisMissing };
}

/** Compares `workflowAction` with and without a key, in interleaved rounds of one gateway per store. */
export async function compareKeys(
  stores: readonly StoreName[],
  gateway: URL,
  credentials: Credentials,
  connections: number,
  storeDelayMs: number,
  pace: { rounds: number; warmUp: number; round: number },
): Promise<StoreResult[]> {
  const workload = { ...workloadNamed('workflow-action'), connections };
  const { token } = credentials;
  const service = await startService();
  const load = startLoad();
  const running: Running[] = [];
  try {
    const gateways = [];
    for (const store of stores) {
      const keyless = await startPeer(
        { ...ours, store, storeDelayMs },
        gateway,
        service,
        credentials,
      );
      running.push(keyless);
      const keyed: Running = { ...keyless, peer: { ...keyless.peer, protocol: 'keyed' } };
      await whenStoreUsable(workload, keyed, token);
      await checkResponses(workload, [keyless, keyed], service, token);
      await warmUp(workload, keyed, load, [token], pace);
      const requests = await warmUp(workload, keyless, load, [token], pace);
      const rounds: StoreResult['rounds'] = [];
      const run = (one: Running) => measure(workload, one, load, service, [token], requests);
      gateways.push({ store, keyless, keyed, rounds, run });
    }
    for (let n = 0; n < pace.rounds; n++) {
      for (const { keyless, keyed, rounds, run } of gateways) {
        // Every other pair runs in reverse, so that changes on the machine affect both sides equally.
        const early = n % 2 === 0 ? undefined : await run(keyed);
        rounds.push({ keyless: await run(keyless), keyed: early ?? (await run(keyed)) });
      }
    }
    return gateways.map(({ store, rounds }) => ({ store, rounds }));
  } finally {
    await Promise.all([...running.map(({ child }) => child), service.child, load].map(stop));
    await Promise.all(running.map(({ redis }) => redis && stop(redis)));
    await Promise.all(running.map(({ postgres }) => postgres?.stop()));
  }
}

/**
 * A gateway connects to its store in the background, and is ready before. A new shared store rejects keys without an age
 * for five seconds.
 */
async function whenStoreUsable(
  workload: Workload,
  { origin, peer }: Running,
  token: string,
): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    const { text } = await send(origin, requestOf(workload, peer.protocol, token, 0));
    if (!text.includes('IDEMPOTENCY_UNAVAILABLE')) return;
    await sleep(50);
  }
  throw new Error('The store of idempotency keys was not usable within 15 s');
}

/** A table: per figure the medians without and with a key, and the median and quartiles of the pairs' ratios. */
export function tableOfStores(results: readonly StoreResult[], connections: number): string {
  const columns = [
    { title: 'CPU µs/request', of: 'cpuUs', digits: 0 },
    { title: 'p50 ms', of: 'p50Ms', digits: 1 },
    { title: 'p99 ms', of: 'p99Ms', digits: 1 },
  ] as const;
  const rows = results.map(({ store, rounds }) => [
    store,
    ...columns.map(({ of, digits }) =>
      changeOf(
        rounds.map(({ keyless }) => keyless),
        rounds.map(({ keyed }) => keyed),
        of,
        digits,
      ),
    ),
    quantile(rounds.map(({ keyed }) => keyed.calls))(0.5).toFixed(2),
  ]);
  const head = ['store', ...columns.map(({ title }) => title), 'calls/request'];
  return `\n### workflowAction without and with an idempotency key (connections: ${connections})\n\n${markdown([head, ...rows])}\n`;
}
