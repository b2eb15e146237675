/** The value below which a share (0 to 1) of the values lies. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** Counts equal names, as text such as `12 GlCodeList, 3 OVERLOADED`. */
export function tally(names: Iterable<string>): string {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  const parts = [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${count} ${name}`);
  return parts.join(', ') || 'none';
}

/** What was measured, and the first examples of what contradicts the claim. */
export function withExamples(measured: string, examples: string[]): string {
  return [measured, ...examples.slice(0, 3)].join('; ');
}

/** Whether the outcome of a write agrees with how often the service saw that write. */
export function isConsistent(outcome: string, times: number): boolean {
  if (outcome === 'ApproversSaved') return times === 1;
  if (outcome === 'LedgerOutcomeUnknown' || outcome === 'no response') return times <= 1;
  return times === 0;
}
