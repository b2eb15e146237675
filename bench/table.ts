import type { Result } from './compare.ts';
import type { Round } from './measure.ts';

const allColumns = [
  { title: 'rejected', of: 'rejected', digits: 3 },
  { title: 'CPU µs/request', of: 'cpuUs', digits: 0 },
  { title: 'CPU µs of the service', of: 'serviceCpuUs', digits: 0 },
  { title: 'calls/request', of: 'calls', digits: 2 },
  { title: 'connections/request', of: 'connections', digits: 3 },
  { title: 'requests/s', of: 'perSecond', digits: 0 },
  { title: 'p50 ms', of: 'p50Ms', digits: 1 },
  { title: 'p99 ms', of: 'p99Ms', digits: 1 },
  { title: 'RSS MB', of: 'rssMb', digits: 0 },
] as const;

/** All figures of a workload: medians. */
export function tableOf(result: Result): string {
  const { peers } = result;
  const hasRejected = peers.some(({ rounds }) => rounds.some(({ rejected }) => rejected > 0));
  const columns = allColumns.filter(({ of }) => of !== 'rejected' || hasRejected);
  const rows = peers.map(({ peer, rounds }) => [
    peer.title,
    ...columns.map(({ of, digits }) => medianOf(rounds, of, digits)),
  ]);
  const head = columns.map(({ title }) => title);
  return `\n### ${titleOf(result)}\n\n${markdown([['', ...head], ...rows])}\n`;
}

/**
 * The CPU time of each peer in some results: of the baseline in µs, of the others as ratios to it. The baseline is the gateway
 * that this one is compared with, if there is one, and otherwise the first peer.
 */
export function tableOfRatios(results: readonly Result[]): string {
  const peers = results[0]?.peers.map(({ peer }) => peer) ?? [];
  const base = peers.find(({ name }) => name === 'other') ?? peers[0];
  const others = peers.filter((peer) => peer !== base);
  const measured = results.filter((one) => roundsOf(one, base?.name).length > 0);
  const rows = measured.map((one) => {
    const rounds = roundsOf(one, base?.name);
    const ratios = others.map(({ name }) => ratioOf(rounds, roundsOf(one, name), 'cpuUs'));
    return [titleOf(one), medianOf(rounds, 'cpuUs', 0), ...ratios];
  });
  const ratios = others.map(({ title }) => `${title}, as a ratio to it`);
  return markdown([['CPU time of a request', `${base?.title}, in µs`, ...ratios], ...rows]);
}

/** A table of two workloads: for each peer, the medians of the first → the second, and the ratio. */
export function tableOfPairs(first: Result, second: Result): string {
  const rows = first.peers.map(({ peer, rounds }, index) => [
    peer.title,
    ...(['cpuUs', 'perSecond', 'p50Ms', 'p99Ms'] as const).map((of) => {
      const others = second.peers[index]?.rounds ?? [];
      const digits = of === 'cpuUs' || of === 'perSecond' ? 0 : 1;
      return `${medianOf(rounds, of, digits)} → ${medianOf(others, of, digits)}; ${ratioOf(rounds, others, of)}`;
    }),
  ]);
  const head = ['', 'CPU µs/request', 'requests/s', 'p50 ms', 'p99 ms'];
  return `\n### ${first.workload.title} → ${second.workload.title}\n\n${markdown([head, ...rows])}\n`;
}

export const labelOf = ({ workload: { title, callers } }: Result, separator: string) =>
  `${title}${separator}callers: ${callers.toLocaleString('en')}`;
const titleOf = (result: Result) => `${labelOf(result, '; ')}; service: ${result.service.title}`;

/** The rounds of a peer. */
export function roundsOf({ peers }: Result, name: string | undefined): readonly Round[] {
  return peers.find(({ peer }) => peer.name === name)?.rounds ?? [];
}

function medianOf(rounds: readonly Round[], of: keyof Round, digits: number): string {
  return median(rounds.map((round) => round[of])).toLocaleString('en', {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}

/** The median of the rounds' ratios, with their quartiles. A difference counts where both are on one side of 1. */
function ratioOf(base: readonly Round[], rounds: readonly Round[], of: keyof Round): string {
  const ratio = quantile(rounds.map((round, n) => round[of] / (base[n]?.[of] ?? Number.NaN)));
  const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => ratio(share).toFixed(2));
  return `${middle} (${low} to ${high})`;
}

export function median(values: readonly number[]): number {
  return quantile(values)(0.5);
}

/** The quantiles of some values, interpolated between the two nearest. */
function quantile(values: readonly number[]): (share: number) => number {
  const sorted = [...values].sort((a, b) => a - b);
  return (share) => {
    const position = (sorted.length - 1) * share;
    const lower = sorted[Math.floor(position)] ?? Number.NaN;
    const upper = sorted[Math.ceil(position)] ?? Number.NaN;
    return lower + (upper - lower) * (position % 1);
  };
}

/** Rows as a Markdown table with aligned columns. */
export function markdown(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(3, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const pad = (cell: string, column: number) =>
    column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0);
  const lines = rows.map((row) => `| ${row.map(pad).join(' | ')} |`);
  const rule = `| ${widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}
