import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stop } from './children.ts';
import { measure, warmUp } from './measure.ts';
import { type Credentials, type Peer, startLoad, startPeer, startService } from './peers.ts';
import type { Workload } from './workloads.ts';

type Profile = {
  nodes: { id: number; callFrame: { functionName: string; url: string; lineNumber: number } }[];
  samples: number[];
  timeDeltas: number[];
  /** Microseconds of the monotonic clock, which all processes share. */
  startTime: number;
};

/** A CPU profile of a gateway in one round, without startup and warm-up, as text. */
export async function profile(
  peer: Peer,
  workload: Workload,
  credentials: Credentials,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'ledger-gateway-profile-'));
  const service = await startService();
  const sender = { load: startLoad(), service, tokens: [credentials.token] };
  const options = { nodeArgs: ['--cpu-prof', `--cpu-prof-dir=${folder}`] };
  const running = await startPeer(peer, service, credentials, options);
  try {
    const requests = await warmUp(workload, running, sender, 30, 1.5);
    const from = process.hrtime.bigint();
    const { cpuUs } = await measure(workload, running, sender, requests);
    const to = process.hrtime.bigint();
    await stop(running.child);
    const [file = ''] = readdirSync(folder);
    const times = readProfile(join(folder, file), Number(from / 1000n), Number(to / 1000n));
    const line = ({ name, share }: ProfileEntry) =>
      `${(share * 100).toFixed(1).padStart(6)} %  ${(share * cpuUs).toFixed(1).padStart(8)} µs  ${name}`;
    return [
      `${workload.title}: ${cpuUs.toFixed(0)} µs of CPU per request, including the profiler`,
      `\nBy package\n${times.packages.slice(0, 25).map(line).join('\n')}`,
      `\nBy function\n${times.functions.slice(0, 30).map(line).join('\n')}`,
    ].join('\n');
  } finally {
    await Promise.all([running.child, sender.load, service.child].map(stop));
    rmSync(folder, { recursive: true });
  }
}

/** A share (0 to 1) of the busy time. */
type ProfileEntry = { name: string; share: number };

/**
 * The busy time in a part of a CPU profile, by package and by function, as self time. `fromUs` and `toUs`
 * are microseconds of the monotonic clock.
 */
function readProfile(
  file: string,
  fromUs: number,
  toUs: number,
): { packages: ProfileEntry[]; functions: ProfileEntry[] } {
  const { nodes, samples, timeDeltas, startTime } = JSON.parse(
    readFileSync(file, 'utf8'),
  ) as Profile;
  const selfUs = new Map<number, number>();
  let now = startTime;
  for (const [index, delta] of timeDeltas.entries()) {
    now += delta;
    const id = samples[index - 1];
    // A sample covers the time until the next one.
    if (id === undefined || now < fromUs || now > toUs) continue;
    selfUs.set(id, (selfUs.get(id) ?? 0) + delta);
  }
  const packages = new Map<string, number>();
  const functions = new Map<string, number>();
  let totalUs = 0;
  for (const { id, callFrame } of nodes) {
    const us = selfUs.get(id);
    if (us === undefined || callFrame.functionName === '(idle)') continue;
    totalUs += us;
    const owner = ownerOf(callFrame);
    const place = callFrame.url.split('/').slice(-2).join('/');
    const name = `${callFrame.functionName || '(anonymous)'}  ${owner}  ${place}:${callFrame.lineNumber + 1}`;
    add(packages, owner, us);
    add(functions, name, us);
  }
  const shares = (times: Map<string, number>) => toShares(times, totalUs);
  return { packages: shares(packages), functions: shares(functions) };
}

function add(times: Map<string, number>, name: string, us: number): void {
  times.set(name, (times.get(name) ?? 0) + us);
}

function toShares(times: Map<string, number>, totalUs: number): ProfileEntry[] {
  return [...times]
    .map(([name, us]) => ({ name, share: us / totalUs }))
    .sort((a, b) => b.share - a.share);
}

/** The origin of a function: a package, a folder of the gateway, a module of Node, or the engine. */
function ownerOf({ functionName, url }: { functionName: string; url: string }): string {
  const inPackage = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  if (inPackage) return inPackage;
  const ours = /\/(src\/[^/]+)/.exec(url)?.[1];
  if (ours) return ours;
  if (url.startsWith('node:')) return url.split('/').slice(0, 2).join('/');
  return functionName.startsWith('(') ? functionName : 'engine or generated';
}
