import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import {
  type Change,
  inTransactions,
  StoreUnavailable,
} from '../../packages/at-most-once/src/store.ts';
import { write } from '../../testkit/graphql-operation.ts';
import { json, reply } from '../../testkit/service.ts';
import { beforeChange } from '../../testkit/store.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { startStack } from '../support/stack.ts';

const key = { 'idempotency-key': 'intent-1' };
const done = json({ status: 0 });
const fileStore = async () => `file:${join(await temporaryFolder(), 'keys.db')}`;

type IsIt = (change: Change) => boolean;
const isOutcome: IsIt = ({ next }) => next?.text.includes('"outcome"') === true;
const isRelease: IsIt = ({ next }) => next === null;

test.each([
  ['an outcome', done, isOutcome],
  ['an error that frees the key', reply(400), isRelease],
])('a client gets %s only when the store has it', async (_, reaction, isIt) => {
  const recording = Promise.withResolvers<void>();
  const recorded = Promise.withResolvers<void>();
  beforeChange(isIt, () => {
    recording.resolve();
    return recorded.promise;
  });
  const { gateway } = await startStack(reaction, { IDEMPOTENCY_STORE: await fileStore() });
  const events: string[] = [];
  const sent = gateway.graphql(write, {}, key).then(() => events.push('response'));
  await recording.promise;
  // Each takes longer than the rest of the response to the write.
  for (let n = 0; n < 3; n++) await gateway.graphql('{ __typename }');
  events.push('recorded');
  recorded.resolve();
  await sent;
  expect(events).toEqual(['recorded', 'response']);
});

test('an outcome that the store rejects at first is recorded before the gateway closes the store', async () => {
  let failuresLeft = Infinity;
  beforeChange(isOutcome, () => {
    if (failuresLeft-- > 0) throw new StoreUnavailable('failed');
  });
  const settings = { IDEMPOTENCY_STORE: await fileStore() };
  const first = await startStack(done, settings);
  const { data } = await first.gateway.graphql(write, {}, key);
  failuresLeft = 2;
  await first.gateway.close();
  const second = await startStack(done, settings);
  const repeated = await second.gateway.graphql(write, {}, key);
  expect(repeated.data).toEqual(data);
  expect(repeated.headers.get('idempotent-replayed')).toBe('true');
  expect(second.service.received).toEqual([]);
});

test('equal work of a later iteration is done again', async () => {
  let runs = 0;
  const batch = inTransactions(async (work: readonly string[]) => work.map(() => ++runs));
  expect(await batch.load('work')).toBe(1);
  expect(await batch.load('work')).toBe(2);
});
