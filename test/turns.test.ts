import { expect, test } from '@jest/globals';
import { inTurn, nextTurn, pause } from '../src/turns.ts';
import { json, startService } from './helper.ts';
import { never, readOf, startCalls } from './upstream/held.ts';

test('long work is done one at a time, with pauses for others, and failing ends no other', async () => {
  const done: string[] = [];
  const work = (name: string) =>
    inTurn(async () => {
      done.push(`${name} begins`);
      await pause();
      done.push(`${name} ends`);
      if (name === 'first') throw new Error('failed');
      return name;
    });
  const first = work('first');
  const second = work('second');
  setImmediate(() => done.push('others'));
  await expect(first).rejects.toThrow('failed');
  expect(await second).toBe('second');
  expect(done).toEqual(['others', 'first begins', 'first ends', 'second begins', 'second ends']);
});

test('what was begun goes on before anything else begins', async () => {
  const done: string[] = [];
  const all = ['a', 'b', 'c'].map(async (name) => {
    await inTurn(async () => done.push(`${name} begins`));
    await nextTurn();
    done.push(`${name} ends`);
  });
  await Promise.all(all);
  expect(done).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
});

test('work that is not wanted any more is not begun, and told so at once', async () => {
  const held = Promise.withResolvers<void>();
  const holding = inTurn(() => held.promise);
  const begun: string[] = [];
  const leaving = new AbortController();
  const left = inTurn(async () => begun.push('left'), leaving.signal);
  const staying = inTurn(async () => begun.push('staying'), new AbortController().signal);
  leaving.abort('gone');
  await expect(left).rejects.toBe('gone');
  const late = inTurn(async () => begun.push('late'), leaving.signal);
  await expect(late).rejects.toBe('gone');
  held.resolve();
  await Promise.all([holding, staying]);
  leaving.abort();
  expect(begun).toEqual(['staying']);
});

test('answers that came in time, and waited here for too long, do not open the circuit', async () => {
  const list = Array.from({ length: 20_000 }, () => ({ Code: 'a code of some length' }));
  const service = await startService(json({ service_status: { status: 0 }, list }));
  const calls = startCalls(service, { timeoutMs: 3000 });
  const held = Promise.withResolvers<void>();
  const holding = inTurn(() => held.promise);
  const reads = Array.from({ length: 12 }, (_, n) =>
    calls.call(readOf('token', `p${n}`), () => null, never).catch(({ code }) => code),
  );
  // They are told at their deadline, though their turn does not come before all of them are.
  expect(await Promise.all(reads)).toEqual(Array(12).fill('UPSTREAM_TIMEOUT'));
  expect(calls.now()).toMatchObject({ circuit: 'closed', inFlight: 0 });
  held.resolve();
  await holding;
});
