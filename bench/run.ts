import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, setPriority, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { callerCounts, compareCallers, selectKinds, tableOfCallers } from './callers.ts';
import { countCalls, listOfCalls, tablesOfCalls } from './calls.ts';
import { keepOffGateway, stop } from './children.ts';
import { compareCrowds, tableOfCrowds } from './crowd.ts';
import { measureFirstRequests, tableOfFirstRequests } from './first-requests.ts';
import { compareKeys, selectStores, tableOfStores } from './keys.ts';
import {
  checkResponses,
  measure,
  probe,
  type Round,
  restingMb,
  WARM_REQUESTS,
  warmUp,
} from './measure.ts';
import { measureMemory, tableOfMemory } from './memory.ts';
import {
  cached,
  createCredentials,
  ours,
  type Peer,
  peers,
  type Running,
  startLoad,
  startPeer,
  startService,
} from './peers.ts';
import { plotOf } from './plot.ts';
import { type ProfileEntry, readProfile } from './profile.ts';
import { type PeerResult, tableOf, tableOfChanges, type WorkloadResult } from './table.ts';
import { type Workload, workloadNamed, workloads } from './workloads.ts';

/** `npm run bench -- [options]`. README.md explains the options and columns. */
const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    peers: { type: 'string' },
    json: { type: 'string' },
    stores: { type: 'string' },
    connections: { type: 'string', default: '64' },
    'store-delay': { type: 'string', default: '0' },
    'cpu-prof': { type: 'string' },
    against: { type: 'string' },
    calls: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    callers: { type: 'string' },
    services: { type: 'string' },
    svg: { type: 'string' },
    gateway: { type: 'string', default: fileURLToPath(new URL('../src/main.ts', import.meta.url)) },
  },
});

// npm runs this in the folder of the package; paths are relative to the folder of the command.
const resolvePath = (path: string) => resolve(process.env.INIT_CWD ?? '', path);
const gateway = pathToFileURL(resolvePath(options.gateway));

/** The workloads of a comparison of two checkouts, by default. */
const mainPath = ['codes-20-different', 'workflow-action', 'codes-20-equal', 'codes-2000'];

/** The names of what is measured that is not one of the workloads. */
const CROWD = 'crowd';
const alone = new Map([
  ['first-requests', compareFirstRequests],
  ['memory', compareMemory],
  ['callers', compareByCallers],
]);

/** Durations in seconds. The processes are started anew so many times, and measured in so many rounds each. */
type Pace = {
  starts: number;
  rounds: number;
  warmUp: number;
  round: number;
  probeRounds: number;
  pause: number;
};

const pace: Pace = options.quick
  ? { starts: 1, rounds: 2, warmUp: 1.5, round: 1, probeRounds: 1, pause: 3 }
  : { starts: 3, rounds: 5, warmUp: 30, round: 1.5, probeRounds: 3, pause: 30 };
const crowdPace = options.quick
  ? { rounds: 1, warmUp: 10, round: 5, openLoop: 15 }
  : { rounds: 3, warmUp: 15, round: 6, openLoop: 30 };
const pairPace = { ...pace, rounds: options.quick ? 6 : 40, round: 0.5 };

const againstPace = options.quick
  ? { ...pace, starts: 2, rounds: 4, round: 0.5 }
  : { ...pace, starts: 4, rounds: 6, round: 1 };

const callersPace = options.quick
  ? { starts: 1, rounds: 3, warmUp: 3, lead: 1, round: 1 }
  : { starts: 2, rounds: 5, warmUp: 30, lead: 2, round: 1.5 };

const print = (text: string) => process.stdout.write(`${text}\n`);

process.on('uncaughtException', ({ message }) => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
});
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));
setTimeout(() => {
  throw new Error('The benchmark did not finish within three hours');
}, 3 * 3_600_000).unref();

keepOffGateway();
const credentials = await createCredentials();
process.once('exit', credentials.remove);
const machine = `${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.versions.node}`;
const measureAlone = alone.get(options.only ?? '');
if (options['cpu-prof'] !== undefined) await profile(workloadNamed(options['cpu-prof']));
else if (options.calls) await compareCalls();
else if (measureAlone !== undefined) await measureAlone();
else if (options.against !== undefined) await compareCheckouts(options.against);
else if (options.stores !== undefined) await compareStores(options.stores);
else await compare();

async function compare(): Promise<void> {
  const only = options.only?.split(',');
  const single = only?.find((name) => alone.has(name));
  if (single) throw new Error(`${single} is measured by itself`);
  const selected = only?.filter((name) => name !== CROWD).map(workloadNamed) ?? workloads;
  const names = options.peers?.split(',');
  const unknown = names?.filter((name) => !peers.some((peer) => peer.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`Unknown peer ${unknown.join(', ')}`);
  const measured = peers.filter(({ name }) => names?.includes(name) ?? true);

  printMachine();
  print(
    `${roundsOf(pace)} of about ${pace.round} s after a warm-up of ${WARM_REQUESTS} requests, or of ${pace.warmUp} s if that is shorter. In parentheses: the ratio to ${measured[0]?.title}, as the median over the rounds.`,
  );
  print(
    'Only ledger-gateway, the server of the same stack, and those with our duties verify tokens; the others forward them.',
  );

  const results: WorkloadResult[] = [];
  for (const workload of selected) {
    const taking = measured.filter((peer) => takesPart(peer, workload));
    if (taking.length === 0) throw new Error(`None of the peers serves ${workload.name}`);
    const result = await compareIn(workload, taking, pace);
    results.push(result);
    print(tableOf(result));
  }
  const crowds = only?.includes(CROWD) === false ? [] : await compareCrowd(measured);
  writeJson({ pace, figures: figuresOf(results), crowdPace, crowds });
}

/** Whether a peer is measured in a workload. */
function takesPart(peer: Peer, workload: Workload): boolean {
  if (peer === cached && !workload.isRepeated) return false;
  if (workload.isOurs && peer !== cached && peer !== ours) return false;
  return peer.protocol === 'graphql' || workload.call !== undefined;
}

/** Measures what a change costs: the gateway of this checkout against that of another one. */
async function compareCheckouts(folder: string): Promise<void> {
  const entry = pathToFileURL(resolvePath(join(folder, 'src/main.ts')));
  const checkouts: Peer[] = [{ ...ours, name: 'against', entry }, ours];
  printMachine();
  print(
    `${roundsOf(againstPace)} of about ${againstPace.round} s after a warm-up. ${folder} → this checkout. In parentheses: the median and the quartiles of the rounds' ratios.`,
  );
  const results: WorkloadResult[] = [];
  const selected = (options.only?.split(',') ?? mainPath).map(workloadNamed);
  for (const workload of selected) results.push(await compareIn(workload, checkouts, againstPace));
  print(tableOfChanges(results));
  writeJson({ pace: againstPace, figures: figuresOf(results) });
}

/** Measures what the first requests after a start cost, in this checkout, or in another one and this one. */
async function compareFirstRequests(): Promise<void> {
  const starts = options.quick ? 3 : 9;
  printMachine();
  print(`${starts} starts each, every other time in reverse. Medians.`);
  const selected = ['codes-20-different', 'workflow-action'].map(workloadNamed);
  const results = await measureFirstRequests(
    oursAndOther(),
    selected,
    gateway,
    credentials,
    starts,
  );
  print(tableOfFirstRequests(results));
  writeJson({ figures: results.map(({ peer, ...rest }) => ({ ...rest, peer: peer.title })) });
}

/** Measures the memory of this checkout when it is idle, or of another one and this one. */
async function compareMemory(): Promise<void> {
  const starts = options.quick ? 1 : 5;
  printMachine();
  print(`${starts} starts each, every other time in reverse. Medians.`);
  const results = await measureMemory(oursAndOther(), gateway, credentials, starts);
  print(tableOfMemory(results));
  writeJson({ figures: results.map(({ peer, starts }) => ({ peer: peer.title, starts })) });
}

/** Counts the functions of our gateway that one request calls, and the promises that it creates in each peer. */
async function compareCalls(): Promise<void> {
  const others = peers.filter(({ name }) => options.peers?.split(',').includes(name));
  printMachine();
  const results = await countCalls([...oursAndOther(), ...others], gateway, credentials);
  print(tablesOfCalls(results));
  if (options.list) print(listOfCalls(results));
  writeJson({ figures: results });
}

/** Measures what one request costs with one caller and with many, and with different kinds of service. */
async function compareByCallers(): Promise<void> {
  const kinds = selectKinds(options.services);
  const counts = options.callers?.split(',').map(Number) ?? callerCounts;
  const names = options.peers?.split(',') ?? ['apollo', 'ours', 'stack'];
  const taking = peers.filter(({ name }) => names.includes(name));
  const compared = taking.flatMap((peer) => (peer === ours ? oursAndOther() : [peer]));
  printMachine();
  print(
    `${roundsOf(callersPace)} of about ${callersPace.round} s. In parentheses: the quartiles of the rounds' ratios.`,
  );
  const results = await compareCallers(
    ...([compared, kinds, counts, gateway, credentials, callersPace] as const),
    (result) => print(tableOfCallers(result)),
  );
  if (options.svg !== undefined) writeFileSync(resolvePath(options.svg), plotOf(results));
  const figures = results.map(({ service, workload, callers, peers }) => ({
    ...{ service: service.name, workload: workload.name, callers },
    peers: peers.map(({ peer, rounds }) => ({ peer: peer.name, rounds })),
  }));
  writeJson({ pace: callersPace, figures });
}

/** The gateway of the checkout that `--against` names, if it does, and of this one. */
function oursAndOther(): Peer[] {
  if (options.against === undefined) return [ours];
  const entry = pathToFileURL(resolvePath(join(options.against, 'src/main.ts')));
  return [{ ...ours, name: 'against', title: options.against, entry }, ours];
}

/** Measures the throughput with many clients, closed and open loops. */
async function compareCrowd(measured: Peer[]): Promise<object[]> {
  print(
    `\n${crowdPace.rounds} interleaved rounds; closed loops of ${crowdPace.round} s, open loops of ${crowdPace.openLoop} s. In parentheses: the share of the peak, which is the throughput with 64 connections.`,
  );
  const graphql = measured.filter((peer) => peer !== cached && peer.protocol === 'graphql');
  const crowds = await compareCrowds(graphql, gateway, credentials, crowdPace);
  print(tableOfCrowds(crowds));
  return crowds.map(({ peer, rounds }) => ({ peer: peer.name, rounds }));
}

/** Measures the cost of an idempotency key in each store. */
async function compareStores(names: string): Promise<void> {
  const { stores, isRedisMissing } = selectStores(names);
  printMachine();
  print(
    `${pairPace.rounds} interleaved pairs of rounds of about ${pairPace.round} s after a warm-up. In parentheses: the median and the quartiles of the pairs' ratios.`,
  );
  if (isRedisMissing) print('Without Redis, because redis-server is not installed.');
  const connections = Number(options.connections);
  const delayMs = Number(options['store-delay']);
  if (delayMs > 0) print(`Servers of stores are ${delayMs} ms away in each direction.`);
  const figures = await compareKeys(stores, gateway, credentials, connections, delayMs, pairPace);
  print(tableOfStores(figures, connections));
  writeJson({ pace: pairPace, connections, figures });
}

function figuresOf(results: WorkloadResult[]): object[] {
  return results.map(({ workload, peers }) => ({
    workload: workload.name,
    peers: peers.map(({ peer, ...rest }) => ({ peer: peer.name, ...rest })),
  }));
}

function roundsOf({ starts, rounds }: { starts: number; rounds: number }): string {
  return `${starts} starts, ${rounds} interleaved rounds each`;
}

function printMachine(): void {
  print(`${new Date().toISOString().slice(0, 10)}, ${machine}`);
}

function writeJson(results: object): void {
  if (options.json === undefined) return;
  const text = JSON.stringify({ date: new Date().toISOString(), machine, ...results }, null, 2);
  writeFileSync(resolvePath(options.json), `${text}\n`);
}

/**
 * Measures a workload. The peers are started several times, every other time in reverse, because V8 optimizes the same
 * code differently in each process.
 */
async function compareIn(
  workload: Workload,
  measured: Peer[],
  pace: Pace,
): Promise<WorkloadResult> {
  const peers = measured.map((peer): PeerResult => ({ peer, readyMs: 0, rounds: [] }));
  for (let start = 0; start < (workload.probed ? 1 : pace.starts); start++) {
    const order = start % 2 === 0 ? measured : measured.toReversed();
    for (const result of await compareOnce(workload, order, pace)) {
      const whole = peers.find(({ peer }) => peer === result.peer);
      if (whole) Object.assign(whole, result, { rounds: [...whole.rounds, ...result.rounds] });
    }
  }
  return { workload, peers };
}

/** Starts all peers and warms them up, then measures them in interleaved rounds. */
async function compareOnce(
  workload: Workload,
  measured: readonly Peer[],
  pace: Pace,
): Promise<PeerResult[]> {
  const service = await startService({ delayMs: workload.delayMs });
  const load = startLoad();
  // This process shares a core with these two. Its cheap requests must not wait for them.
  if (workload.probed) for (const { pid } of [service.child, load]) setPriority(pid, 10);
  // A peer is idle while others are measured. V8 would then collect garbage, and could throw optimized code away with it.
  const nodeArgs = workload.probed ? [] : ['--no-memory-reducer'];
  const running: Running[] = [];
  const { token } = credentials;
  try {
    for (const peer of measured)
      running.push(await startPeer(peer, gateway, service, credentials, nodeArgs));
    await checkResponses(workload, running, service, token);

    const state = new Map<Running, { requests: number; rounds: Round[]; rssBeforeMb: number }>();
    for (const one of running) {
      const rssBeforeMb = workload.probed ? await restingMb(one, load, token, pace) : 0;
      const requests = await warmUp(workload, one, load, [token], pace);
      state.set(one, { requests, rounds: [], rssBeforeMb });
    }
    for (let n = 0; n < pace.rounds; n++) {
      // Every other round runs in reverse, so that changes on the machine affect all peers equally.
      const order = n % 2 === 0 ? [...state] : [...state].reverse();
      for (const [one, { requests, rounds }] of order) {
        rounds.push(await measure(workload, one, load, service, [token], requests));
      }
    }
    const results: PeerResult[] = [];
    for (const [one, { requests, rounds, rssBeforeMb }] of state) {
      const result = { peer: one.peer, readyMs: one.readyMs, rounds };
      if (!workload.probed) {
        results.push(result);
        continue;
      }
      const heavyLoad = () =>
        measure(workload, one, load, service, [token], requests * pace.probeRounds);
      const strain = await probe(one, token, heavyLoad);
      await sleep(pace.pause * 1000);
      const rssAfterMb = await restingMb(one, load, token, pace);
      results.push({ ...result, strain: { ...strain, rssBeforeMb, rssAfterMb } });
    }
    return results;
  } finally {
    await Promise.all([...running.map(({ child }) => child), service.child, load].map(stop));
  }
}

/** Prints a CPU profile of our gateway in one round, without startup and warm-up. */
async function profile(workload: Workload): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-profile-'));
  const [store] = options.stores === undefined ? [] : selectStores(options.stores).stores;
  const peer: Peer = store === undefined ? ours : { ...ours, protocol: 'keyed', store };
  const { token } = credentials;
  const service = await startService({ delayMs: workload.delayMs });
  const load = startLoad();
  let running: Running | undefined;
  try {
    running = await startPeer(peer, gateway, service, credentials, [
      '--cpu-prof',
      `--cpu-prof-dir=${folder}`,
    ]);
    const requests = await warmUp(workload, running, load, [token], pace);
    const from = process.hrtime.bigint();
    const round = await measure(workload, running, load, service, [token], requests);
    const to = process.hrtime.bigint();
    await stop(running.child);
    const [file] = readdirSync(folder);
    if (!file) throw new Error('No profile was written');
    const { areas, packages, functions } = readProfile(
      join(folder, file),
      Number(from / 1000n),
      Number(to / 1000n),
    );
    const line = ({ name, share }: ProfileEntry) =>
      `${(share * 100).toFixed(1).padStart(6)} %  ${(share * round.cpuUs).toFixed(1).padStart(8)} µs  ${name}`;
    print(
      `${workload.title}: ${round.cpuUs.toFixed(0)} µs of CPU per request, including the profiler`,
    );
    print(`\nBy area\n${areas.map(line).join('\n')}`);
    print(`\nBy package\n${packages.slice(0, 25).map(line).join('\n')}`);
    print(`\nBy function\n${functions.slice(0, 30).map(line).join('\n')}`);
  } finally {
    const all = [running?.child, running?.redis, service.child, load];
    await Promise.all(all.map((one) => one && stop(one)));
    await running?.postgres?.stop();
    rmSync(folder, { recursive: true });
  }
}
