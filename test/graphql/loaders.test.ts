import { setImmediate } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { createLoaders } from '../../src/graphql/loaders.ts';
import { ResponseLimits } from '../../src/graphql/response-limits.ts';
import type { RequestScope } from '../../src/request-scope.ts';
import type { Reads } from '../../src/upstream/call.ts';
import { createLane } from '../support/admission.ts';
import { glCodesOf, scopeOf } from '../support/upstream-call.ts';

const noReads: Reads = { read: () => Promise.reject(new Error('not expected')) };

function loadersOf(scope: RequestScope) {
  return createLoaders(noReads, scope, new ResponseLimits(scope, 1_000_000));
}

test('what is made of a list once is shared with other requests', async () => {
  const list = Array.from({ length: 20_000 }, () => ({}));
  const make = jest.fn(async (items: readonly object[], turn: () => Promise<void> | undefined) => {
    await turn();
    return { count: items.length };
  });
  const made = new Set<object>();
  for (const scope of [scopeOf(), scopeOf('other')]) {
    const { once } = loadersOf(scope);
    for (const value of await Promise.all([once(list, make), once(list, make)])) made.add(value);
  }
  expect([[...made], make.mock.calls.length]).toEqual([[{ count: list.length }], 1]);
});

test('what is made of a list takes memory for a reference to each item', async () => {
  const scope = scopeOf();
  const list = Array.from({ length: 20_000 }, () => ({}));
  expect(await loadersOf(scope).derive(list, () => list.slice(1))).toHaveLength(19_999);
  expect(scope.reservation.peakBytes).toBe(160_000);
});

test('reads begin within the turn of their request, once each, when all of its root fields have started, and fail in one turn', async () => {
  const happened: string[] = [];
  const read: Reads['read'] = async ({ search }) => {
    happened.push(`read ${search}`);
    throw new Error('not expected to end well');
  };
  const lane = createLane();
  const turn = jest.fn(async () => {});
  const scope = { ...scopeOf(), turn };
  const { list } = createLoaders({ read }, scope, new ResponseLimits(scope, 1_000_000));
  lane.turn('caller', 1);
  for (const project of ['north', 'south', 'north']) {
    happened.push(`field ${project}`);
    list(glCodesOf(project), () => [], 0).catch(() => happened.push(`failed ${project}`));
  }
  await lane.turn('another caller', 2);
  await setImmediate();
  const reads = ['north', 'south'].map((project) => `read ${glCodesOf(project).search}`);
  const failures = ['failed north', 'failed south', 'failed north'];
  expect(happened.slice(0, 5)).toEqual(['field north', 'field south', 'field north', ...reads]);
  expect(happened.slice(5).sort()).toEqual(failures.sort());
  expect(turn).toHaveBeenCalledTimes(1);
});
