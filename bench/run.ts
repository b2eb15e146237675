import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, setPriority, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { type Child, keepOffGateway, stop } from './children.ts';
import { checkAnswers, measure, probe, type Round, restingMb, warmUp } from './measure.ts';
import {
  createCredentials,
  type Peer,
  peers,
  type Running,
  startLoad,
  startPeer,
  startService,
} from './peers.ts';
import { readProfile } from './profile.ts';
import { type PeerResult, tableOf, type WorkloadResult } from './table.ts';
import { type Workload, workloadNamed, workloads } from './workloads.ts';

/** `npm run bench -- [options]`; README.md tells what each option and column is. */
const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    peers: { type: 'string' },
    json: { type: 'string' },
    'cpu-prof': { type: 'string' },
    gateway: { type: 'string', default: fileURLToPath(new URL('../src/main.ts', import.meta.url)) },
  },
});

// npm starts this in its own folder; a path that was typed is meant from where it was typed.
const typed = (path: string) => resolve(process.env.INIT_CWD ?? '', path);
const gateway = pathToFileURL(typed(options.gateway));

const pace = options.quick
  ? { rounds: 2, warmUp: 1.5, round: 1, probeRounds: 1, pause: 3 }
  : { rounds: 13, warmUp: 6, round: 1.5, probeRounds: 3, pause: 30 };

const say = (text: string) => process.stdout.write(`${text}\n`);

process.on('uncaughtException', ({ message }) => {
  process.stderr.write(`${message}\n`);
  process.exit(1);
});
process.on('SIGINT', () => process.exit(130));
process.on('SIGTERM', () => process.exit(143));
setTimeout(() => {
  throw new Error('The benchmark did not end within an hour');
}, 3_600_000).unref();

keepOffGateway();
const credentials = await createCredentials();
process.once('exit', credentials.remove);
if (options['cpu-prof'] === undefined) await compare();
else await profile(workloadNamed(options['cpu-prof']));

async function compare(): Promise<void> {
  const chosen = options.only?.split(',').map(workloadNamed) ?? workloads;
  const names = options.peers?.split(',');
  const unknown = names?.filter((name) => !peers.some((peer) => peer.name === name)) ?? [];
  if (unknown.length > 0) throw new Error(`There is no peer ${unknown.join(', ')}`);
  const measured = peers.filter(({ name }) => names?.includes(name) ?? true);

  const machine = `${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.versions.node}`;
  say(`${new Date().toISOString().slice(0, 10)}, ${machine}`);
  say(
    `${pace.rounds} interleaved rounds of about ${pace.round} s after ${pace.warmUp} s of warming up. In parentheses: the ratio to ${measured[0]?.title}, the median over the rounds.`,
  );
  say('Only ledger-gateway verifies tokens; the others pass them on, as their idiom does.');

  const results: WorkloadResult[] = [];
  for (const workload of chosen) {
    const result = await compareIn(
      workload,
      measured.filter(({ protocol }) => protocol === 'graphql' || workload.call),
    );
    results.push(result);
    say(tableOf(result));
  }
  if (options.json !== undefined) {
    const figures = results.map(({ workload, peers }) => ({
      workload: workload.name,
      peers: peers.map(({ peer, ...rest }) => ({ peer: peer.name, ...rest })),
    }));
    const date = new Date().toISOString();
    writeFileSync(
      typed(options.json),
      `${JSON.stringify({ date, machine, pace, figures }, null, 2)}\n`,
    );
  }
}

/** One workload: all peers up and warm, then round by round, so that noise falls on all alike. */
async function compareIn(workload: Workload, measured: Peer[]): Promise<WorkloadResult> {
  const service = await startService(workload.delayMs);
  const load = startLoad();
  // The cheap requests of this process must not wait for the core that it shares with these two.
  if (workload.probed) for (const { pid } of [service.child, load]) setPriority(pid, 10);
  const running: Running[] = [];
  const { token } = credentials;
  try {
    for (const peer of measured)
      running.push(await startPeer(peer, gateway, service.origin, credentials));
    await checkAnswers(workload, running, service, token);

    const state = new Map<Running, { requests: number; rounds: Round[]; rssBeforeMb: number }>();
    for (const one of running) {
      const rssBeforeMb = workload.probed ? await restingMb(one, load, token, pace) : 0;
      const requests = await warmUp(workload, one, load, token, pace);
      state.set(one, { requests, rounds: [], rssBeforeMb });
    }
    for (let n = 0; n < pace.rounds; n++) {
      // There and back: what changes on the machine meanwhile falls on each as often before another as after.
      const turns = n % 2 === 0 ? [...state] : [...state].reverse();
      for (const [one, { requests, rounds }] of turns) {
        rounds.push(await measure(workload, one, load, service, token, requests));
      }
    }
    const results: PeerResult[] = [];
    for (const [one, { requests, rounds, rssBeforeMb }] of state) {
      const result = { peer: one.peer, readyMs: one.readyMs, rounds };
      if (!workload.probed) {
        results.push(result);
        continue;
      }
      const work = () => measure(workload, one, load, service, token, requests * pace.probeRounds);
      const strain = await probe(one, token, work);
      await sleep(pace.pause * 1000);
      const rssAfterMb = await restingMb(one, load, token, pace);
      results.push({ ...result, strain: { ...strain, rssBeforeMb, rssAfterMb } });
    }
    return { workload, peers: results };
  } finally {
    await Promise.all([...running.map(({ child }) => child), service.child, load].map(stop));
  }
}

/** Where our own time goes: a profile of the measured part alone, without start and warm-up. */
async function profile(workload: Workload): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-profile-'));
  const ours = peers.find(({ name }) => name === 'ours');
  if (!ours) throw new Error('There is nothing of ours');
  const { token } = credentials;
  const service = await startService(workload.delayMs);
  const load = startLoad();
  let child: Child | undefined;
  try {
    const running = await startPeer(ours, gateway, service.origin, credentials, [
      '--cpu-prof',
      `--cpu-prof-dir=${folder}`,
    ]);
    child = running.child;
    const requests = await warmUp(workload, running, load, token, pace);
    const from = process.hrtime.bigint();
    const round = await measure(workload, running, load, service, token, requests);
    const to = process.hrtime.bigint();
    await stop(child);
    const [file] = readdirSync(folder);
    if (!file) throw new Error('No profile was written');
    const { packages, functions } = readProfile(
      join(folder, file),
      Number(from / 1000n),
      Number(to / 1000n),
    );
    const line = ({ name, share }: { name: string; share: number }) =>
      `${(share * 100).toFixed(1).padStart(6)} %  ${(share * round.cpuUs).toFixed(1).padStart(8)} µs  ${name}`;
    say(`${workload.title}: ${round.cpuUs.toFixed(0)} µs of CPU per request, profiler included`);
    say(`\nBy package\n${packages.slice(0, 25).map(line).join('\n')}`);
    say(`\nBy function\n${functions.slice(0, 30).map(line).join('\n')}`);
  } finally {
    await Promise.all([child, service.child, load].map((one) => one && stop(one)));
    rmSync(folder, { recursive: true });
  }
}
