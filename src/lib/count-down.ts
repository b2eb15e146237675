/**
 * Starts a countdown, and returns a function that says how many milliseconds are left. The monotonic clock stands still while
 * a virtual machine is suspended, and the wall clock may be set back. So the clock that shows the longer time counts. A
 * suspension counts from the time on when the wall clock was `wallOffset` ahead of the monotonic one, by default from now on.
 */
export function countDown(ms: number, wallOffset = wallOffsetNow()): () => number {
  const end = performance.now() + ms;
  return () => end - performance.now() - suspendedMs(wallOffset);
}

/** For how long the machine was suspended since the wall clock was so far ahead of the monotonic one, in milliseconds. */
export function suspendedMs(wallOffset: number): number {
  return Math.max(0, Math.floor(wallOffsetNow() - wallOffset)); // `Date.now` has no fractions.
}

/** How far the wall clock is ahead of the monotonic one, in milliseconds. It grows while the machine is suspended. */
export function wallOffsetNow(): number {
  return Date.now() - performance.now();
}
