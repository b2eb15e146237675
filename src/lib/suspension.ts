/**
 * For how long the machine was suspended since the wall clock was so far ahead of the monotonic one, in milliseconds. The monotonic
 * clock stands still meanwhile. The wall clock may be set back, which does not count.
 */
export function suspendedMs(wallOffset: number): number {
  return Math.max(0, Math.floor(wallOffsetNow() - wallOffset)); // `Date.now` has no fractions.
}

/** How far the wall clock is ahead of the monotonic one, in milliseconds. It grows while the machine is suspended. */
export function wallOffsetNow(): number {
  return Date.now() - performance.now();
}
