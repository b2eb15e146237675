import type { Group, Pace, Result, ServiceKind } from './compare.ts';
import { type Peer, peers, stores } from './peers.ts';
import { tableOf, tableOfPairs, tableOfRatios } from './table.ts';
import { type Workload, workloadNamed, workloads } from './workloads.ts';

/** What is measured together, and shown as one part of the page. */
export type Suite = {
  name: string;
  peers: readonly Peer[];
  groups: readonly Group[];
  pace: Pace;
  /** The tables of the page, in Markdown. */
  page: (results: readonly Result[]) => string;
};

const plain: ServiceKind = { name: 'plain', title: 'no TLS', isTls: false, announces: true };
const serviceKinds: readonly ServiceKind[] = [
  plain,
  { name: 'plain-silent', title: 'no TLS, silent', isTls: false, announces: false },
  { name: 'tls', title: 'TLS', isTls: true, announces: true },
  { name: 'tls-silent', title: 'TLS, silent', isTls: true, announces: false },
];

const read = workloadNamed('codes-20-different');
const write = workloadNamed('workflow-action');
/** The number of connections of a crowd. */
const CROWD = 1000;
/** The largest number of callers. */
const MOST = 2000;

const pace: Pace = { starts: 3, rounds: 5, warmUp: 30, lead: 1, round: 1.5 };
/** The pace of a suite with `--quick`. */
export const quick = (pace: Pace): Pace => ({ ...pace, starts: 1, rounds: 3, warmUp: 3, lead: 1 });

/** Each workload has processes of its own, because lists of one would change the heap in which others are measured. */
const alone = (workload: Workload): Group => ({ service: plain, steps: [[workload]] });

const suites: readonly Suite[] = [
  {
    name: 'peers',
    peers,
    groups: workloads.filter(({ isOurs, isKeyed }) => !isOurs && !isKeyed).map(alone),
    pace,
    page: tableOfRatios,
  },
  {
    name: 'callers',
    peers: peers.filter(({ name }) => name !== 'mercurius'),
    groups: serviceKinds.map((service) => ({
      service,
      steps: [1, 64, MOST].flatMap((callers) => [[{ ...read, callers }], [{ ...write, callers }]]),
    })),
    pace: { ...pace, starts: 2, lead: 2 },
    page: (results) => {
      const hardest = results.filter(
        ({ workload, service }) => workload.callers === MOST && service.name === 'tls-silent',
      );
      return [tableOfRatios(results), ...hardest.map(tableOf)].join('\n');
    },
  },
  {
    name: 'crowd',
    peers: peers.filter(({ name }) => name === 'ours' || name === 'stack'),
    groups: [
      {
        service: plain,
        steps: [
          [
            { ...read, title: '64 connections' },
            { ...read, title: '1,000 connections', connections: CROWD, mayReject: true },
          ],
        ],
      },
    ],
    pace: { ...pace, round: 5 },
    page: tablesOfPairs,
  },
  {
    name: 'keys',
    peers: stores,
    groups: [{ service: plain, steps: [[write, workloadNamed('workflow-action-keyed')]] }],
    pace: { ...pace, rounds: 15, round: 0.5 },
    page: tablesOfPairs,
  },
];

/** The suites of these names, and for other names of workloads one suite of them. */
export function selectSuites(names: string | undefined): readonly Suite[] {
  if (names === undefined) return suites;
  const selected = names.split(',');
  const known = suites.filter(({ name }) => selected.includes(name));
  const others = selected.filter((name) => !known.some((suite) => suite.name === name));
  if (others.length === 0) return known;
  const [first] = suites as [Suite];
  return [...known, { ...first, name: '', groups: others.map(workloadNamed).map(alone) }];
}

function tablesOfPairs(results: readonly Result[]): string {
  const pairs = results.filter((_, index) => index % 2 === 0);
  return pairs.map((one, index) => tableOfPairs(one, results[2 * index + 1] as Result)).join('\n');
}
