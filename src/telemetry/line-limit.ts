/** Returns a function that counts a log line that anybody can cause, and returns whether it is one of `maxLines` per `ms`. */
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
