/**
 * Limits log lines that anybody can cause without much effort. Returns a function that counts one line, and returns whether
 * it may be written: at most `maxLines` per `ms` milliseconds.
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
