import { afterEach, beforeEach, expect, jest, test } from '@jest/globals';
import { StoreUnavailable, type UnavailableReason } from '../src/store.ts';
import { createStoreWatch } from '../src/store-watch.ts';

type Failing = Partial<Record<'read' | 'change' | 'claim', UnavailableReason>>;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
});

afterEach(() => {
  jest.useRealTimers();
});

/** Uses of a store that fail as they are told, and what is logged about them. */
function start() {
  const lines: string[] = [];
  const add = (details: object) => lines.push(Object.values(details).join() || 'up');
  const { succeeded, failed, isFailing } = createStoreWatch({ info: add, warn: add, error: add });
  return {
    lines,
    isFailing,
    /** Uses the store in each way, a while after the last use. */
    use([failing, ms = 11_000]: [Failing, number?]) {
      jest.advanceTimersByTime(ms);
      for (const kind of ['read', 'change', 'claim'] as const) {
        const reason = failing[kind];
        if (reason) failed(new StoreUnavailable(reason), 'caller');
        else succeeded();
      }
    },
  };
}

const down = { read: 'unreachable', change: 'unreachable', claim: 'unreachable' } as const;

test('each transition is logged once, also when the store fails again soon after', () => {
  const { lines, use } = start();
  const loading = { ...down, read: 'loading' as const };
  for (const failing of [{}, down, down, {}, {}, down, loading, {}]) use([failing]);
  expect(lines).toEqual(['unreachable', 'up', 'unreachable', 'loading', 'up']);
});

test('a store that can be read, or changed, but takes no claims is not up', () => {
  const { lines, use } = start();
  const timeout = { change: 'timeout', claim: 'timeout' } as const;
  for (const failing of [timeout, { claim: 'full' as const }]) use([failing, 9000]);
  for (let n = 0; n < 5; n++) use([{ claim: 'full' }, 9000]);
  use([{}]);
  expect(lines).toEqual(['timeout', 'full', 'up']);
});

test('a store that rejects claims is failing until nothing has failed for ten seconds, also if nobody uses it then', () => {
  const { isFailing, use } = start();
  const states: boolean[] = [];
  for (const failing of [{}, { claim: 'busy' as const }, { claim: 'full' as const }]) {
    use([failing]);
    states.push(isFailing());
  }
  use([{}, 9000]);
  states.push(isFailing());
  jest.advanceTimersByTime(2000);
  expect([...states, isFailing()]).toEqual([false, false, true, true, false]);
});

test.each(['share', 'busy'] as const)(
  'a caller with too much (%s) is no failure of the store, and is logged once a minute',
  (reason) => {
    const { lines, use } = start();
    for (let n = 0; n < 8; n++) use([{ claim: reason }]);
    expect(lines).toEqual(['caller', 'caller']);
  },
);

test('a store that is not connected yet, or in quarantine, is not down', () => {
  const { lines, use } = start();
  const failing = { read: 'connecting', claim: 'quarantine' } as const;
  for (const one of [failing, {}]) use([one]);
  expect(lines).toEqual([]);
});
