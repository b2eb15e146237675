import { until } from '../stress/harness.ts';
import { createPrivateCa } from '../testkit/certificate.ts';
import { closeAll } from '../testkit/cleanup.ts';
import { send } from './children.ts';
import { checkResponses, measure, type Round, type Sender, warmUp } from './measure.ts';
import {
  type Credentials,
  type Peer,
  type Running,
  startLoad,
  startPeer,
  startService,
} from './peers.ts';
import { requestOf, type Workload } from './workloads.ts';

/** How the service is reached. A silent one does not say how long it keeps an idle connection open. */
export type ServiceKind = { name: string; title: string; isTls: boolean; announces: boolean };

/** Durations in seconds. The processes are started anew so many times, and measured in so many rounds each. */
export type Pace = {
  starts: number;
  rounds: number;
  /** The warm-up after a start, and the one before each step. */
  warmUp: number;
  lead: number;
  round: number;
};

/** What is measured with the same processes: steps one after another, the workloads of a step in interleaved rounds. */
export type Group = { service: ServiceKind; steps: readonly (readonly Workload[])[] };

export type PeerResult = { peer: Peer; rounds: Round[] };
export type Result = { service: ServiceKind; workload: Workload; peers: PeerResult[] };

/** Measures a group. The peers are started several times, because V8 optimizes the same code differently in each process. */
export async function compare(
  { service, steps }: Group,
  peers: readonly Peer[],
  credentials: Credentials,
  pace: Pace,
): Promise<Result[]> {
  const results = steps.map((step) =>
    step.map((workload): Result => {
      const taking = peers.filter(({ isOurs }) => isOurs || !workload.isOurs);
      return { service, workload, peers: taking.map((peer) => ({ peer, rounds: [] })) };
    }),
  );
  for (let start = 0; start < pace.starts; start++) {
    const order = start % 2 === 0 ? peers : peers.toReversed();
    await compareOnce(service, results, order, credentials, pace);
  }
  return results.flat();
}

/** Starts all peers and warms them up, and adds their rounds to the results. */
async function compareOnce(
  { isTls, announces }: ServiceKind,
  steps: readonly (readonly Result[])[],
  peers: readonly Peer[],
  credentials: Credentials,
  pace: Pace,
): Promise<void> {
  const ca = isTls ? await createPrivateCa() : undefined;
  const tls = await ca?.issue('service');
  const service = await startService({ announces, ...(tls && { tls }) }, ca?.certFile);
  const load = startLoad();
  const callers = Math.max(...steps.flat().map(({ workload }) => workload.callers));
  const subjects = Array.from({ length: callers }, (_, n) => `caller-${n}`);
  const tokens = await Promise.all(subjects.map(credentials.tokenOf));
  const sender: Sender = { load, service, tokens };
  const running: Running[] = [];
  try {
    for (const peer of peers) running.push(await startPeer(peer, service, credentials));
    const byName = new Map(steps.flat().map((result) => [result.workload.name, result]));
    for (const { workload, peers } of byName.values()) {
      const taking = running.filter((one) => peers.some(({ peer }) => peer === one.peer));
      for (const one of taking) await whenUsable(workload, one, tokens[0] ?? '');
      await checkResponses(workload, taking, tokens[0] ?? '');
      const single = { ...workload, callers: 1 };
      for (const one of taking) await warmUp(single, one, sender, pace.warmUp, pace.round);
    }
    for (const step of steps) await runStep(step, running, sender, pace);
  } finally {
    await closeAll();
  }
}

/** A new shared store rejects keys without an age for five seconds. */
async function whenUsable(workload: Workload, { origin }: Running, token: string): Promise<void> {
  await until(async () => {
    const { text } = await send(origin, requestOf(workload, token, 0));
    return !text.includes('IDEMPOTENCY_UNAVAILABLE');
  }, 15_000);
}

/** Measures all peers in turn, in each workload of a step. */
async function runStep(
  step: readonly Result[],
  running: readonly Running[],
  sender: Sender,
  pace: Pace,
): Promise<void> {
  const parts = [];
  for (const one of running) {
    for (const { workload, peers } of step) {
      const rounds = peers.find(({ peer }) => peer === one.peer)?.rounds;
      if (rounds === undefined) continue;
      const requests = await warmUp(workload, one, sender, pace.lead, pace.round);
      parts.push({ workload, one, requests, rounds });
    }
  }
  for (let n = 0; n < pace.rounds; n++) {
    // Every other round runs in reverse, so that changes on the machine affect all peers equally.
    for (const { workload, one, requests, rounds } of n % 2 === 0 ? parts : parts.toReversed())
      rounds.push(await measure(workload, one, sender, requests));
  }
}
