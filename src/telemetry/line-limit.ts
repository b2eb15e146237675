/**
 * Returns a function that tells whether one more log line may be written now, of so many in so many milliseconds. By
 * default, of those that anybody can cause without much effort.
 */
export function createLineLimit(maxLines = 1000, ms = 1000): () => boolean {
  let since = -Infinity;
  let lines = 0;
  return () => {
    const now = performance.now();
    if (now >= since + ms) [since, lines] = [now, 0];
    lines += 1;
    return lines <= maxLines;
  };
}
