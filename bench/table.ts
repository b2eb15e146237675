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

/** A workload's figures: the median over the rounds, and that of its ratios to the first peer's. */
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
    ...(workload.probed ? ['longest wait beside it ms', 'RSS MB before → peak → after'] : []),
  ];
  return `\n### ${workload.title}\n\n${markdown([head, ...rows])}\n`;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}

/** Rows as a Markdown table that is aligned to be read as it is. */
function markdown(rows: readonly string[][]): string {
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
