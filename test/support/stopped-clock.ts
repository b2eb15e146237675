import { afterEach, beforeEach, jest } from '@jest/globals';

/**
 * Stops the monotonic clock and the wall clock in the tests of a file, so that on a slow machine nothing is due early.
 * Returns a function that advances both by so many milliseconds.
 */
export function stopClock(): (ms: number) => void {
  let [monotonic, wall] = [0, 0];
  beforeEach(() => {
    monotonic = Math.round(performance.now()); // Sums of integers are exact.
    wall = Date.now();
    jest.spyOn(performance, 'now').mockImplementation(() => monotonic);
    jest.spyOn(Date, 'now').mockImplementation(() => wall);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  return (ms) => {
    monotonic += ms;
    wall += ms;
  };
}
