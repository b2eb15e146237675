/**
 * Starts a countdown, and returns a function that says how many milliseconds are left. The monotonic clock stands still while
 * a virtual machine is suspended, and the wall clock may be set back. So the clock that shows the longer time counts.
 */
export function countDown(ms: number): () => number {
  const end = performance.now() + ms;
  const wallEnd = Date.now() + ms;
  return () => Math.min(end - performance.now(), wallEnd - Date.now());
}
