import { expect, test } from '@jest/globals';
import { claimsOn } from '../../../testkit/claims.ts';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { RETENTION_MS, TestStore } from '../../../testkit/store.ts';
import { AtMostOnce } from '../src/at-most-once.ts';

class Refused extends Error {}

function start(timeoutMs = 10_000) {
  const store = new TestStore();
  const other = claimsOn(store);
  const atMostOnce = new AtMostOnce(store, {
    timeoutMs,
    retentionMs: RETENTION_MS,
    quarantineMs: 0,
    maxWritesPerKey: 3,
    closeMs: 0,
    isWithoutEffect: (error) => error instanceof Refused,
  });
  closeAfterTest(async () => {
    await atMostOnce.close();
    await other.close();
  });
  const intent = { key: 'key', caller: 'caller', ageMs: 0, receivedAt: performance.now() };
  const write = { ...intent, responseName: 'a', operation: 'act', fingerprint: 'fingerprint' };
  return { atMostOnce, other, intent, write };
}

const succeed = async () => ({ value: 'value', record: 'record' });

test('an error frees the key only if it proves that nothing was done', async () => {
  const { atMostOnce, write } = start(0);
  const failWith = (error: Error) => () => Promise.reject(error);
  await expect(atMostOnce.run(write, failWith(new Refused()))).rejects.toThrow(Refused);
  await expect(atMostOnce.run(write, failWith(new Error('lost')))).rejects.toThrow('lost');
  expect(await atMostOnce.run(write, succeed)).toEqual({ state: 'in-flight' });
});

test('a write that settling has found to be orphaned is new in its result, although it has waited for another one since', async () => {
  const { atMostOnce, other, intent } = start(30);
  await other.claim('key', 'other', { responseName: 'orphan', leaseMs: 0 });
  await other.claim('key', 'other', { responseName: 'in flight' });
  expect((await atMostOnce.settle(intent)).writes).toMatchObject([
    { responseName: 'orphan', state: 'orphaned', isNew: true },
    { responseName: 'in flight', state: 'in-flight' },
  ]);
  const [orphan] = (await atMostOnce.settle(intent)).writes;
  expect(orphan).toMatchObject({ state: 'orphaned', isNew: false });
});
