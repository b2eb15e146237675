import { createPrivateCa } from '../testkit/certificate.ts';
import { closeAll } from '../testkit/cleanup.ts';
import { stop } from './children.ts';
import { checkResponses, measure, type Round, warmUp } from './measure.ts';
import { type Credentials, type Peer, startLoad, startPeer, startService } from './peers.ts';
import { markdown, median, quantile } from './table.ts';
import { type Workload, workloadNamed } from './workloads.ts';

/** How many people send the requests. Each has a token of their own, and all share 64 connections to the gateway. */
export const callerCounts = [1, 64, 2000];

/** A way to reach the service. `silent` services do not say how long they keep an idle connection open. */
export type ServiceKind = { name: string; title: string; isTls: boolean; announces: boolean };

export const serviceKinds: readonly ServiceKind[] = [
  { name: 'plain', title: 'plain', isTls: false, announces: true },
  { name: 'plain-silent', title: 'plain, no `Keep-Alive`', isTls: false, announces: false },
  { name: 'tls', title: 'TLS', isTls: true, announces: true },
  { name: 'tls-silent', title: 'TLS, no `Keep-Alive`', isTls: true, announces: false },
];

/** The kinds of service with these names, separated by commas; all without names. */
export function selectKinds(names?: string): readonly ServiceKind[] {
  if (names === undefined) return serviceKinds;
  return names.split(',').map((name) => {
    const kind = serviceKinds.find((known) => known.name === name);
    if (kind) return kind;
    const known = serviceKinds.map((one) => one.name).join(', ');
    throw new Error(`Unknown kind of service ${name}. Known: ${known}`);
  });
}

const workloads = ['codes-20-different', 'workflow-action'].map(workloadNamed);

export type CallersPace = {
  starts: number;
  rounds: number;
  /** Seconds: of the warm-up after a start, of the one before each measurement, and of a round. */
  warmUp: number;
  lead: number;
  round: number;
};

export type CallersResult = {
  service: ServiceKind;
  workload: Workload;
  callers: number;
  peers: { peer: Peer; rounds: Round[] }[];
};

/** Compares the peers for each number of callers and each kind of service, in interleaved rounds. */
export async function compareCallers(
  peers: readonly Peer[],
  kinds: readonly ServiceKind[],
  counts: readonly number[],
  gateway: URL,
  credentials: Credentials,
  pace: CallersPace,
  onResult: (result: CallersResult) => void,
): Promise<CallersResult[]> {
  const subjects = Array.from({ length: Math.max(...counts) }, (_, n) => `caller-${n}`);
  const tokens = await Promise.all(subjects.map(credentials.tokenOf));
  const results: CallersResult[] = [];
  for (const service of kinds) {
    const ofService = counts.flatMap((callers) =>
      workloads.map((workload) => ({
        ...{ service, workload, callers },
        peers: peers.map((peer) => ({ peer, rounds: [] as Round[] })),
      })),
    );
    // Anew and in reverse every other time, because V8 optimizes the same code differently in each process.
    for (let start = 0; start < pace.starts; start++)
      await measureStart(ofService, start % 2 === 0, gateway, credentials, tokens, pace);
    ofService.forEach(onResult);
    results.push(...ofService);
  }
  return results;
}

/** Starts all peers in front of one service, and adds their rounds to the results. */
async function measureStart(
  results: readonly CallersResult[],
  isInOrder: boolean,
  gateway: URL,
  credentials: Credentials,
  tokens: readonly string[],
  pace: CallersPace,
): Promise<void> {
  const [{ service: kind, peers } = { service: serviceKinds[0], peers: [] }] = results;
  const ca = kind?.isTls ? await createPrivateCa() : undefined;
  const tls = await ca?.issue('service');
  const setup = { announces: kind?.announces ?? true, ...(tls && { tls }) };
  const service = await startService(setup, ca?.certFile);
  const load = startLoad();
  const order = isInOrder ? peers : peers.toReversed();
  const running = [];
  try {
    for (const { peer } of order)
      running.push(await startPeer(peer, gateway, service, credentials, ['--no-memory-reducer']));
    for (const workload of workloads) {
      await checkResponses(workload, running, service, credentials.token);
      for (const one of running) await warmUp(workload, one, load, [credentials.token], pace);
    }
    for (const { workload, callers, peers } of results) {
      const these = tokens.slice(0, callers);
      const state = [];
      for (const one of running) {
        const lead = { warmUp: pace.lead, round: pace.round };
        const requests = await warmUp(workload, one, load, these, lead);
        const rounds = peers.find(({ peer }) => peer === one.peer)?.rounds;
        state.push({ one, requests, rounds });
      }
      for (let n = 0; n < pace.rounds; n++) {
        for (const { one, requests, rounds } of n % 2 === 0 ? state : state.toReversed()) {
          // Connections may have been closed while other peers were measured. To open them again is not counted.
          await measure(workload, one, load, service, these, 4 * workload.connections);
          rounds?.push(await measure(workload, one, load, service, these, requests));
        }
      }
    }
  } finally {
    await Promise.all([...running.map(({ child }) => child), service.child, load].map(stop));
    await closeAll();
  }
}

/** All figures of one measurement. Ratios are medians of the rounds' ratios, with their quartiles. */
export function tableOfCallers({ service, workload, callers, peers }: CallersResult): string {
  const bases = peers.filter(({ peer }) => peer.name === 'apollo' || peer.name === 'against');
  const rows = peers.map(({ peer, rounds }) => {
    const middle = (of: keyof Round, digits: number) =>
      median(rounds.map((round) => round[of])).toFixed(digits);
    return [
      peer.title,
      middle('cpuUs', 0),
      ...bases.map((base) => ratioOf(base.rounds, rounds, 'cpuUs')),
      middle('serviceCpuUs', 0),
      ...bases.map((base) => ratioOf(base.rounds, rounds, 'serviceCpuUs')),
      middle('connections', 3),
      middle('calls', 2),
      middle('perSecond', 0),
      middle('p50Ms', 1),
      middle('p99Ms', 1),
    ];
  });
  const ratios = bases.map(({ peer }) => `to ${peer.title}`);
  const head = [
    ...['', 'CPU µs/request', ...ratios, 'CPU µs of the service', ...ratios],
    ...['connections/request', 'calls/request', 'requests/s', 'p50 ms', 'p99 ms'],
  ];
  const title = `${workload.title}, callers: ${callers}, service: ${service.title}`;
  return `\n### ${title}\n\n${markdown([head, ...rows])}\n`;
}

function ratioOf(base: readonly Round[], rounds: readonly Round[], of: keyof Round): string {
  const ratio = quantile(rounds.map((round, n) => round[of] / (base[n]?.[of] ?? Number.NaN)));
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => ratio(share).toFixed(2));
  return `${middle} (${low} to ${high})`;
}
