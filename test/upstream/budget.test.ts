import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { RetryBudget } from '../../src/upstream/budget.ts';

beforeEach(() => {
  jest.useFakeTimers();
  // A process has run for a while; its clock starts at 0.
  jest.advanceTimersByTime(100_000);
});

afterEach(() => {
  jest.useRealTimers();
});

function record(budget: RetryBudget, calls: number): void {
  for (let n = 0; n < calls; n++) budget.recordCall();
}

/** How many retries a budget gives when asked for many. */
function retriesOf(budget: RetryBudget, asked = 1000): number {
  let given = 0;
  for (let n = 0; n < asked; n++) if (budget.takeRetry()) given += 1;
  return given;
}

test('the clock is the one that the test turns', () => {
  const before = performance.now();
  jest.advanceTimersByTime(1234);
  expect(performance.now() - before).toBe(1234);
});

test.each([
  [0, 10],
  [1, 10],
  [100, 10],
  [109, 10],
  [110, 11],
  [200, 20],
  [5000, 500],
])('%d calls have a tenth of retries, and ten at least', (calls, retries) => {
  const budget = new RetryBudget();
  record(budget, calls);
  expect(retriesOf(budget)).toBe(retries);
  expect(budget.takeRetry()).toBe(false);
});

test('calls that come later make room for retries', () => {
  const budget = new RetryBudget();
  expect(retriesOf(budget)).toBe(10);
  record(budget, 100);
  expect(retriesOf(budget)).toBe(0);
  record(budget, 50);
  expect(retriesOf(budget)).toBe(5);
});

test('the window slides by the second and is ten of them long', () => {
  const budget = new RetryBudget();
  record(budget, 1000);
  expect(retriesOf(budget, 60)).toBe(60);

  jest.advanceTimersByTime(9000);
  record(budget, 200);
  expect(retriesOf(budget)).toBe(60); // 1200 calls, 60 retries so far.

  jest.advanceTimersByTime(1000);
  expect(retriesOf(budget)).toBe(0); // 200 calls are left, and the 60 retries of their second.

  jest.advanceTimersByTime(9000);
  expect(retriesOf(budget)).toBe(10); // Nothing is left.
});

test('a budget that nobody asked for long is a fresh one', () => {
  const budget = new RetryBudget();
  record(budget, 1000);
  jest.advanceTimersByTime(3_600_000);
  expect(retriesOf(budget)).toBe(10);
});

test('over any ten seconds of an outage the retries are a tenth of the calls', () => {
  const budget = new RetryBudget();
  const retries: number[] = [];
  for (let second = 0; second < 60; second++) {
    record(budget, 100);
    retries.push(retriesOf(budget, 200));
    jest.advanceTimersByTime(1000);
  }
  for (let second = 9; second < 60; second++) {
    const window = retries.slice(second - 9, second + 1);
    expect(window.reduce((sum, value) => sum + value, 0)).toBeLessThanOrEqual(100);
  }
});
