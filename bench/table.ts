import type { Round, Strain } from './measure.ts';
import type { Peer } from './peers.ts';
import type { Workload } from './workloads.ts';

export type PeerResult = { peer: Peer; readyMs: number; rounds: Round[]; strain?: Strain };
export type WorkloadResult = { workload: Workload; peers: PeerResult[] };

const columns: readonly { title: string; of: keyof Round; digits: number }[] = [
  { title: 'CPU µs/request', of: 'cpuUs', digits: 0 },
  { title: 'requests/s', of: 'perSecond', digits: 0 },
  { title: 'p50 ms', of: 'p50Ms', digits: 1 },
  { title: 'p99 ms', of: 'p99Ms', digits: 1 },
  { title: 'RSS MB', of: 'rssMb', digits: 0 },
  { title: 'calls/request', of: 'calls', digits: 2 },
];

/** A table of a workload: the medians over the rounds, and the medians of the ratios to the first peer. */
export function tableOf({ workload, peers }: WorkloadResult): string {
  const base = peers[0];
  const rows = peers.map(({ peer, readyMs, rounds, strain }) => [
    peer.title,
    ...columns.map(({ of, digits }) => {
      const value = median(rounds.map((round) => round[of])).toFixed(digits);
      const ratio = median(rounds.map((round, n) => round[of] / (base?.rounds[n]?.[of] ?? NaN)));
      return `${value} (${ratio.toFixed(2)})`;
    }),
    readyMs.toFixed(0),
    ...(strain
      ? [
          strain.stallMs.toFixed(0),
          [strain.rssBeforeMb, strain.rssPeakMb, strain.rssAfterMb]
            .map((mb) => mb.toFixed(0))
            .join(' → '),
        ]
      : []),
  ]);
  const head = [
    '',
    ...columns.map(({ title }) => title),
    'start ms',
    ...(workload.probed ? ['longest stall ms', 'RSS MB before → peak → after'] : []),
  ];
  return `\n### ${workload.title}\n\n${markdown([head, ...rows])}\n`;
}

/** A table of two checkouts: per workload, the medians of each and the ratio of the second to the first. */
export function tableOfChanges(results: readonly WorkloadResult[]): string {
  const rows = results.map(({ workload, peers: [before, after] }) => [
    workload.title,
    ...(['cpuUs', 'p50Ms', 'p99Ms'] as const).map((of) =>
      changeOf(before?.rounds ?? [], after?.rounds ?? [], of, of === 'cpuUs' ? 0 : 1),
    ),
  ]);
  return `\n${markdown([['', 'CPU µs/request', 'p50 ms', 'p99 ms'], ...rows])}\n`;
}

/** A figure before → after a change, as medians; the median of the ratios of the rounds, and their quartiles. */
export function changeOf(
  before: readonly Round[],
  after: readonly Round[],
  of: keyof Round,
  digits: number,
): string {
  const middle = (rounds: readonly Round[]) =>
    median(rounds.map((round) => round[of])).toFixed(digits);
  const ratio = quantile(after.map((round, n) => round[of] / (before[n]?.[of] ?? Number.NaN)));
  const [low, center, high] = [0.25, 0.5, 0.75].map((share) => ratio(share).toFixed(2));
  return `${middle(before)} → ${middle(after)} (${center}, ${low} to ${high})`;
}

export function median(values: readonly number[]): number {
  return quantile(values)(0.5);
}

/** The quantiles of some values, interpolated between the two nearest. */
export function quantile(values: readonly number[]): (share: number) => number {
  const sorted = [...values].sort((a, b) => a - b);
  return (share) => {
    const position = (sorted.length - 1) * share;
    const lower = sorted[Math.floor(position)] ?? NaN;
    const upper = sorted[Math.ceil(position)] ?? NaN;
    return lower + (upper - lower) * (position % 1);
  };
}

/** Rows as a Markdown table with aligned columns. */
export function markdown(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const lines = rows.map(
    (row) =>
      `| ${row
        .map((cell, column) => {
          const width = widths[column] ?? 0;
          return column === 0 ? cell.padEnd(width) : cell.padStart(width);
        })
        .join(' | ')} |`,
  );
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}
