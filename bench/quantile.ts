/** The quantiles of some values, interpolated between the two nearest. */
export function quantile(values: readonly number[]): (share: number) => number {
  const sorted = [...values].sort((a, b) => a - b);
  return (share) => {
    const position = (sorted.length - 1) * share;
    const lower = sorted[Math.floor(position)] ?? Number.NaN;
    const upper = sorted[Math.ceil(position)] ?? Number.NaN;
    return lower + (upper - lower) * (position % 1);
  };
}
