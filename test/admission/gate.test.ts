import { setImmediate as immediate } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { Gate } from '../../src/admission/gate.ts';

test('a caller takes a half, and whatever others take, the next one finds half of the rest', () => {
  const gate = new Gate({ limit: 320 });
  const taken = ['a', 'b', 'c', 'd'].map((caller) => {
    const before = gate.held;
    while (gate.tryEnter(caller));
    return gate.held - before;
  });
  expect([gate.maxPerCaller, ...taken]).toEqual([160, 160, 80, 40, 20]);
  gate.leave('d');
  expect(['c', 'd', 'e'].map((caller) => gate.tryEnter(caller))).toEqual([false, true, true]);
});

test('amounts count, not entries', () => {
  const gate = new Gate({ limit: 100 });
  expect([gate.tryEnter('a', 51), gate.tryEnter('a', 50)]).toEqual([false, true]);
  expect([gate.tryEnter('b', 26), gate.tryEnter('b', 25)]).toEqual([false, true]);
});

test('callers take turns', async () => {
  const gate = new Gate({ limit: 1 });
  const entered: string[] = [];
  for (const caller of ['a', 'a', 'a', 'b', 'b', 'c']) {
    void gate.enter(caller).then(() => entered.push(caller));
  }
  for (const caller of ['a', 'a', 'b', 'c', 'a']) {
    await immediate();
    gate.leave(caller);
  }
  await immediate();
  expect(entered).toEqual(['a', 'a', 'b', 'c', 'a', 'b']);
});

test('a new caller enters at once while another one holds and queues all that it may', async () => {
  const gate = new Gate({ limit: 4, maxWaiting: 8, rejection: new Error('full') });
  for (let n = 0; n < 6; n++) void gate.enter('a');
  expect([gate.held, gate.waiting]).toEqual([2, 4]);
  await expect(gate.enter('a')).rejects.toThrow('full');
  expect([gate.tryEnter('b'), gate.tryEnter('b')]).toEqual([true, false]);
});

test('what is larger waits without stopping others, and enters when there is room', async () => {
  const gate = new Gate({ limit: 100 });
  gate.tryEnter('a', 45);
  const large = gate.enter('a', { amount: 30 });
  expect(gate.tryEnter('a', 1)).toBe(false); // It would overtake.
  expect([gate.tryEnter('a', 5, true), gate.tryEnter('b', 18)]).toEqual([true, true]);
  gate.leave('a', 45);
  await large;
  expect([gate.held, gate.waiting]).toEqual([53, 0]);
});

test('a place that is about to be given to what waits is not free', async () => {
  const gate = new Gate({ limit: 1 });
  gate.tryEnter('a');
  const waiting = gate.enter('a');
  gate.leave('a');
  expect(gate.tryEnter('b')).toBe(false);
  await waiting;
  expect(gate.held).toBe(1);
});

test('an urgent entry enters before the others of its caller, and not before those of other callers', async () => {
  const gate = new Gate({ limit: 1 });
  gate.tryEnter('a');
  const entered: string[] = [];
  const pass = async (caller: string, name: string, isUrgent = false) => {
    await gate.enter(caller, { isUrgent });
    entered.push(name);
    gate.leave(caller);
  };
  const all = [
    pass('b', 'other'),
    pass('a', 'first'),
    pass('a', 'second'),
    pass('a', 'urgent', true),
  ];
  gate.leave('a');
  await Promise.all(all);
  expect(entered).toEqual(['other', 'urgent', 'first', 'second']);
});

test('when the oldest of a caller has waited for long, no more of it may wait, but what is urgent', async () => {
  const gate = new Gate({ limit: 1, maxWaitMs: 1000, rejection: new Error('full') });
  gate.tryEnter('a');
  jest.useFakeTimers({ now: 0, doNotFake: ['setImmediate'] });
  const pass = (caller: string, isUrgent = false) =>
    gate.enter(caller, { isUrgent }).then(() => gate.leave(caller));
  const oldest = pass('a');
  jest.advanceTimersByTime(751);
  await expect(pass('a')).rejects.toThrow('full');
  const urgent = pass('a', true);
  const other = pass('b');
  gate.leave('a');
  await Promise.all([urgent, other, oldest]);
  expect(gate.waiting).toBe(0);
  jest.useRealTimers();
});

/** Takes an amount, and says when it can be dropped because its client keeps it for too long. */
function takeForLong(gate: Gate, caller: string, amount: number) {
  const state = { isOverdue: false };
  gate.take(caller, amount);
  gate.idle.push({
    caller,
    holds: () => true,
    isOverdue: () => state.isOverdue,
    drop: () => gate.leave(caller, amount),
  });
  return state;
}

test('what was dropped in excess of what work in progress needed is given to those who wait', async () => {
  const gate = new Gate({ limit: 100 });
  const held = takeForLong(gate, 'a', 60);
  gate.take('b', 40);
  const waiting = gate.enter('c', { amount: 20 });
  held.isOverdue = true;
  expect(gate.tryEnter('d', 10, true)).toBe(true);
  await waiting;
  expect([gate.held, gate.waiting]).toEqual([70, 0]);
});

test('what becomes overdue while something waits is dropped before that is rejected', async () => {
  const gate = new Gate({ limit: 100, maxWaitMs: 20 });
  const held = takeForLong(gate, 'a', 100);
  const waiting = gate.enter('c', { amount: 20 });
  held.isOverdue = true;
  await waiting;
  expect([gate.held, gate.waiting]).toEqual([20, 0]);
});

test('what enters for an iteration of the event loop leaves after it, and callers take turns', async () => {
  const reading = new Gate({ limit: 1 });
  const order: string[] = [];
  const read = async (caller: string) => {
    await reading.enterIteration(caller);
    order.push(caller);
  };
  expect(reading.enterIteration('a')).toBeUndefined();
  const all = Promise.all([read('a'), read('a'), read('b')]);
  expect(order).toEqual([]);
  await all;
  expect(order).toEqual(['a', 'b', 'a']);
  await immediate();
  await immediate();
  expect(reading.enterIteration('a')).toBeUndefined();
});

test('what waits for an iteration is rejected when its signal is aborted', async () => {
  const reading = new Gate({ limit: 1 });
  reading.enterIteration('a');
  const controller = new AbortController();
  const waiting = reading.enterIteration('b', controller.signal);
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'CLIENT_DISCONNECTED' });
});
