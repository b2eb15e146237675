import { expect, jest, test } from '@jest/globals';
import { pino } from 'pino';
import { AtMostOnce } from '../../packages/at-most-once/src/at-most-once.ts';
import {
  type Change,
  COMPLETENESS_KEY,
  ReplyLost,
  StoreUnavailable,
} from '../../packages/at-most-once/src/store.ts';
import { fingerprintOf, intentOf } from '../../src/idempotency/idempotency-key.ts';
import { createIdempotencyMetrics } from '../../src/idempotency/idempotency-metrics.ts';
import { IdempotentCalls } from '../../src/idempotency/idempotent-call.ts';
import type { UpstreamCalls } from '../../src/upstream/call.ts';
import { operations } from '../../src/upstream/declarations.ts';
import { OutcomeUnknown } from '../../src/upstream/upstream-error.ts';
import { claimsOn } from '../../testkit/claims.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { read, write, writes } from '../../testkit/graphql-operation.ts';
import { testIssuer } from '../../testkit/issuer.ts';
import { metric, metricIs, sumOf } from '../../testkit/metric.ts';
import { json, type Reply, reply, success } from '../../testkit/service.ts';
import { beforeChange, RETENTION_MS, TestStore } from '../../testkit/store.ts';
import { createMetrics } from '../support/metrics.ts';
import { shareGateway } from '../support/shared-gateway.ts';
import { startHeldStack, startStack } from '../support/stack.ts';
import { scopeOf, upgradeToHq } from '../support/upstream-call.ts';

const key = { 'idempotency-key': 'intent-1' };
const save = `mutation { result: ${writes.saveApproverList} }`;
const succeed = json({ invoice_id: 7, message: 'saved', status: 0, unresolved: 'row 3' });
const reset: Reply = (response) => void response.socket?.resetAndDestroy();
const completed = expect.not.stringContaining('Ledger');

const setReply = shareGateway({ MAX_WRITES_PER_OPERATION: '4' });

/** Sends requests with a key of their own to the shared gateway. */
function start(reaction: Reply = succeed) {
  const { service, gateway } = setReply(reaction);
  const ownKey = { 'idempotency-key': crypto.randomUUID() };
  const send = async (query = write, headers: Record<string, string> = ownKey) => {
    const { headers: received, ...response } = await gateway.graphql(query, {}, headers);
    return { ...response, isReplayed: received.get('idempotent-replayed') === 'true' };
  };
  return { service, send, ownKey };
}

const unknownOutcome = (code: string) => ({ __typename: 'LedgerOutcomeUnknown', code });
const outcomes: [name: string, Reply, result: object, field?: string][] = [
  ...Object.entries(writes).map(([name, field]): (typeof outcomes)[number] => {
    return [name, succeed, { __typename: completed }, field];
  }),
  ...[1, 2, 3, 77].map((status): (typeof outcomes)[number] => {
    const record = `{ "invoice_id": 9007199254740993, "message": "m", "status": ${status} }`;
    return [`status ${status}`, json(record), { invoiceId: '9007199254740993', message: 'm' }];
  }),
  ['a reset', reset, unknownOutcome('UPSTREAM_UNAVAILABLE')],
  ['a 500', reply(500), unknownOutcome('UPSTREAM_FAILED')],
  ['a redirect', reply(303, '', { location: '/' }), unknownOutcome('UPSTREAM_INVALID_RESPONSE')],
  ['no JSON', reply(200, 'done'), unknownOutcome('UPSTREAM_INVALID_RESPONSE')],
];

test.each(outcomes)('%s with a key is sent once and replayed', async (...row) => {
  const [, reaction, result, field = writes.upgradeToHQ] = row;
  const { service, send } = start(reaction);
  const first = await send(`mutation { result: ${field} }`);
  expect(first).toMatchObject({ data: { result }, isReplayed: false });
  expect(await send(`mutation { result: ${field} }`)).toEqual({ ...first, isReplayed: true });
  expect(service.received).toHaveLength(1);
});

test('an outcome can be read by a parser that rejects half of a character, which the service has cut', async () => {
  const { send } = start(json('{"message":"cut \\ud83d","status":1}'));
  for (const isReplayed of [false, true]) {
    expect(await send()).toMatchObject({ isReplayed, data: { result: { message: 'cut \ufffd' } } });
  }
});

test('a key counts for each root field by its response name, up to the fields of one mutation', async () => {
  const { service, send } = start();
  const fieldsOf = (...names: string[]) =>
    `mutation { ${names.map((name) => `${name}: ${writes.upgradeToHQ}`).join(' ')} }`;
  const names = ['a', 'constructor', '__proto__', 'toString'];
  const first = await send(fieldsOf(...names));
  expect(first.errors).toBeUndefined();
  expect(await send(fieldsOf(...names))).toEqual({ ...first, isReplayed: true });
  expect(service.received).toHaveLength(4);
  const extensions = { code: 'IDEMPOTENCY_KEY_REUSED', retryable: false };
  const message = expect.stringContaining('as many fields as one mutation may have');
  expect((await send(fieldsOf('b'))).errors).toMatchObject([{ path: ['b'], message, extensions }]);
  expect(service.received).toHaveLength(4);
});

test.each([
  ['a write without a key', write, {}],
  ['a query with any key', read, { 'idempotency-key': 'not valid at all' }],
])('%s is sent each time', async (_, query, headers) => {
  const { service, send } = start(success);
  await send(query, headers);
  expect(await send(query, headers)).toMatchObject({ isReplayed: false });
  expect(service.received).toHaveLength(2);
});

test('the same key for another request is an error, and nothing is sent', async () => {
  const { service, gateway } = await startStack(succeed);
  await gateway.graphql(write);
  await gateway.graphql(write, {}, key);
  await gateway.graphql(write, {}, key);
  const { status, data, errors } = await gateway.graphql(save, {}, key);
  expect([status, data]).toEqual([200, { result: null }]);
  const extensions = { code: 'IDEMPOTENCY_KEY_REUSED', retryable: false };
  expect(errors).toMatchObject([{ extensions }]);
  expect(service.received).toHaveLength(2);
  const count = (labels = {}) => metric(gateway, 'ledger_gateway_idempotency_total', labels);
  for (const result of ['claimed', 'replayed', 'reused']) expect(await count({ result })).toBe(1);
  expect(await count()).toBe(3);
});

test('a new token of the same caller is the same caller, and another caller is not', async () => {
  const { service, send, ownKey } = start();
  const { token } = await testIssuer();
  for (const [sub, expiresIn, isReplayed] of [
    ['ada', '1h', false],
    ['ada', '2h', true],
    ['bob', '1h', false],
  ] as const) {
    const authorization = `Bearer ${await token({ sub, expiresIn })}`;
    expect(await send(write, { ...ownKey, authorization })).toMatchObject({ isReplayed });
  }
  expect(service.received).toHaveLength(2);
});

test('IDEMPOTENCY_REQUIRED rejects a mutation without a key', async () => {
  const { service, gateway } = await startStack(success, { IDEMPOTENCY_REQUIRED: 'true' });
  const { errors } = await gateway.graphql(write);
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
  expect(service.received).toEqual([]);
  expect((await gateway.graphql(write, {}, key)).errors).toBeUndefined();
  expect((await gateway.graphql(read)).errors).toBeUndefined();
});

test.each([307, 400, 401, 403, 429])('after a %d the key is free again', async (status) => {
  const replies = [reply(status), succeed];
  const { service, send } = start((...request) => replies.shift()?.(...request));
  expect((await send()).errors).toHaveLength(1);
  expect(await send()).toMatchObject({ data: { result: { __typename: completed } } });
  expect(service.received).toHaveLength(2);
});

test('a router that splits a mutation names the field, so that settling finds it', async () => {
  const { send, ownKey } = start();
  const named = { ...ownKey, 'idempotency-response-name': 'alias' };
  expect((await send(write, named)).errors).toBeUndefined();
  const settling = `settleWrites(idempotencyKey: "${ownKey['idempotency-key']}", ageMs: 0)`;
  const { data } = await send(`mutation { ${settling} { writes { responseName } } }`, named);
  expect(data.settleWrites.writes).toEqual([{ responseName: 'alias' }]);
});

const two = `mutation { a: ${writes.upgradeToHQ} b: ${writes.upgradeToHQ} }`;
const spread = `mutation { ...F } fragment F on Mutation { a: ${writes.upgradeToHQ} }`;
test.each<[what: string, query: string, headers: Record<string, string>]>([
  ['an empty key', write, { 'idempotency-key': '' }],
  ['an empty age', write, { 'idempotency-key-age': '' }],
  ['a response name for two root fields', two, { 'idempotency-response-name': 'a' }],
  ['a response name for a fragment', spread, { 'idempotency-response-name': 'a' }],
  ['a response name that is no name', write, { 'idempotency-response-name': 'not a name' }],
])('a write with %s is rejected before sending', async (_, query, headers) => {
  const { service, send, ownKey } = start();
  const { errors } = await send(query, { ...ownKey, ...headers });
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT' } }]);
  expect(service.received).toEqual([]);
});

test('repeats in flight join the first request', async () => {
  const { service, gateway } = await startHeldStack();
  const first = gateway.graphql(write, {}, key);
  const call = await service.arrived(1);
  const repeats = [gateway.graphql(write, {}, key), gateway.graphql(write, {}, key)];
  const reused = await gateway.graphql(save, {}, key);
  expect(reused.errors?.[0]?.extensions.code).toBe('IDEMPOTENCY_KEY_REUSED');
  await metricIs(gateway, 'ledger_gateway_idempotency_total', 2, { result: 'joined' });

  call.respond();
  const { data } = await first;
  for (const repeat of await Promise.all(repeats)) {
    expect(repeat.data).toEqual(data);
    expect(repeat.headers.get('idempotent-replayed')).toBe('true');
  }
  expect(service.received).toHaveLength(1);
});

test('the outcome is recorded although the client of the first request disconnected', async () => {
  const { service, gateway } = await startHeldStack();
  const client = new AbortController();
  const first = gateway.post({ query: write }, key, client.signal);
  const call = await service.arrived(1);
  client.abort();
  await expect(first).rejects.toThrow();
  await gateway.logLine({ msg: 'request', status: 499 });

  const repeat = gateway.graphql(write, {}, key);
  call.respond();
  expect((await repeat).data.result.__typename).toBe('WorkflowActionCompleted');
  expect(service.received).toHaveLength(1);
});

test('a repeat in flight is sent if the first request had no effect', async () => {
  const { service, gateway } = await startHeldStack();
  const first = gateway.graphql(write, {}, key);
  const refused = await service.arrived(1);
  const repeat = gateway.graphql(write, {}, key);
  await metricIs(gateway, 'ledger_gateway_idempotency_total', 1, { result: 'joined' });

  refused.response.writeHead(401).end();
  expect((await first).errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
  (await service.arrived(2)).respond();
  const { data, headers } = await repeat;
  expect(data.result.__typename).toBe('WorkflowActionCompleted');
  expect(headers.get('idempotent-replayed')).toBeNull();
});

const silent = pino({ level: 'silent' });
const fingerprint = fingerprintOf(upgradeToHq);
const failed = new OutcomeUnknown('UPSTREAM_FAILED', 'request-1');

/** A store that can fail, and counts how often records of keys are read. */
class FailingStore extends TestStore {
  failure: StoreUnavailable | undefined;
  losesReplies = false;
  losesRecords = false;
  reads = 0;

  override async read(key: string) {
    if (this.failure) throw this.failure;
    if (key !== COMPLETENESS_KEY) this.reads += 1;
    return super.read(key);
  }

  override async swap(change: Change) {
    if (this.failure) throw this.failure;
    if (this.losesRecords && change.key !== COMPLETENESS_KEY) return 'swapped';
    const result = await super.swap(change);
    if (this.losesReplies && change.key !== COMPLETENESS_KEY) throw new ReplyLost('unreachable');
    return result;
  }

  async nextRead() {
    const { reads } = this;
    while (this.reads === reads) await new Promise(setImmediate);
  }
}

/** Calls with a key, on a store that another process uses as well. `respond` is what becomes of a write that is sent. */
function startWithStore(
  respond: (store: FailingStore) => unknown = () => failed,
  timeoutMs = 10_000,
) {
  const store = new FailingStore();
  const other = claimsOn(store);
  closeAfterTest(other.close);
  const sent: unknown[] = [];
  const send = async (request: { deadline?: number }) => {
    sent.push(request.deadline);
    return respond(store);
  };
  const metrics = createMetrics();
  const atMostOnce = new AtMostOnce(store, {
    timeoutMs,
    retentionMs: RETENTION_MS,
    quarantineMs: 0,
    maxWritesPerKey: 3,
    closeMs: 1000,
  });
  closeAfterTest(() => atMostOnce.close());
  const calls = new IdempotentCalls({
    upstream: { write: send } as Pick<UpstreamCalls, 'write'>,
    atMostOnce,
    timeoutMs,
    isRequired: false,
    operations: [operations.upgradeToHQ],
    metrics: createIdempotencyMetrics(metrics, 'memory', [], silent),
  });
  const scope = { ...scopeOf(), givenKey: () => ({ keys: ['intent-1'], ages: [] }) };
  const { key } = intentOf(scope.givenKey(), scope);
  return {
    store,
    sent,
    write: (more = {}) => calls.write({ ...upgradeToHq, ...more }, scope),
    settle: () => calls.settle('intent-1', 0, scope),
    unknownOutcomes: async () =>
      sumOf(await metrics.text(), 'ledger_gateway_unknown_outcomes_total'),
    counted: async (result: string) =>
      sumOf(await metrics.text(), 'ledger_gateway_idempotency_total', { result }),
    /** The claim of the other process on the same key. */
    claimByOther: (more = {}) => other.claim(key, 'other', { fingerprint, ...more }),
    releaseByOther: () => other.release(key, 'other'),
    recordByOther: (outcome: unknown) => other.record(key, 'other', outcome),
  };
}

const unreachable = new StoreUnavailable('unreachable');

test.each(['a repeat', 'settling'])(
  '%s that waits for a write in flight learns that it is in progress, although the store then fails',
  async (waiting) => {
    const { store, sent, write, settle, claimByOther } = startWithStore();
    await claimByOther();
    const repeat =
      waiting === 'settling' ? settle().then(({ writes }) => writes[0]?.outcome) : write();
    // The first attempt has ended.
    for (let reads = 0; reads < 2; reads++) await store.nextRead();
    store.failure = unreachable;
    expect(await repeat).toMatchObject({ code: 'IN_PROGRESS' });
    expect(sent).toEqual([]);
  },
);

test.each(['here', 'elsewhere'])(
  'what waits until its deadline for a write in flight %s learns that it is in progress',
  async (where) => {
    const { sent, write, settle, claimByOther } = startWithStore(() => new Promise(() => {}), 50);
    if (where === 'here') void write();
    else await claimByOther();
    expect(await write()).toMatchObject({ code: 'IN_PROGRESS' });
    expect((await settle()).writes).toMatchObject([{ outcome: { code: 'IN_PROGRESS' } }]);
    expect(sent).toHaveLength(where === 'here' ? 1 : 0);
  },
);

test('settling knows a write in flight here although the store has lost its claim', async () => {
  const { store, sent, write, settle } = startWithStore(() => new Promise(() => {}), 50);
  store.losesRecords = true;
  void write();
  while (sent.length === 0) await new Promise(setImmediate);
  store.losesRecords = false;
  expect((await settle()).writes).toMatchObject([{ outcome: { code: 'IN_PROGRESS' } }]);
});

test('without the store, a write is rejected before sending, and settling too, which is counted', async () => {
  const { store, sent, write, settle, counted } = startWithStore();
  store.failure = unreachable;
  for (const use of [write, settle]) {
    await expect(use()).rejects.toMatchObject({ code: 'IDEMPOTENCY_UNAVAILABLE' });
  }
  expect([sent, await counted('unavailable')]).toEqual([[], 2]);
});

test('a claim whose reply was lost is released, and the write rejected before sending', async () => {
  const { store, sent, write } = startWithStore();
  store.losesReplies = true;
  await expect(write()).rejects.toMatchObject({ code: 'IDEMPOTENCY_UNAVAILABLE' });
  expect(sent).toEqual([]);
  store.losesReplies = false;
  expect(await write()).toBe(failed);
});

test('a repeat that finds the key free after waiting has only the rest of its deadline', async () => {
  const { store, sent, write, claimByOther, releaseByOther } = startWithStore();
  await claimByOther();
  const repeat = write();
  const end = performance.now() + 10_000;
  await store.nextRead();
  await releaseByOther();
  await repeat;
  expect(Number(sent[0])).toBeLessThan(end);
});

test('a write is not sent if the machine was suspended while the store claimed its key', async () => {
  const { service, gateway } = await startStack(success);
  const isClaim = ({ needsRoom }: Change) => needsRoom;
  beforeChange(isClaim, () => {
    const resumedAt = Date.now() + 3_600_000;
    const clock = jest.spyOn(Date, 'now').mockReturnValue(resumedAt);
    closeAfterTest(() => clock.mockRestore());
  });
  const { errors } = await gateway.graphql(write, {}, key);
  expect(errors?.[0]?.extensions.code).toBe('UPSTREAM_TIMEOUT');
  expect(service.received).toEqual([]);
});

test('an orphaned write is never sent, and counted once, also when settling notices it', async () => {
  for (const isSettled of [true, false]) {
    const { sent, settle, write, claimByOther, unknownOutcomes } = startWithStore();
    await claimByOther({ leaseMs: 0 });
    if (isSettled) {
      expect((await settle()).writes).toMatchObject([{ outcome: { code: 'ORPHANED' } }]);
    }
    for (let n = 0; n < 2; n++) expect(await write()).toMatchObject({ code: 'ORPHANED' });
    expect([sent, await unknownOutcomes()]).toEqual([[], 1]);
  }
});

test.each([true, false])(
  'repeats get the outcome with its long text in short form, also if it cannot be recorded (%j)',
  async (isRecorded) => {
    const message = 'x'.repeat(100_000);
    const { sent, write } = startWithStore((store) => {
      if (!isRecorded) store.failure = new StoreUnavailable('full');
      return { invoiceId: null, message, status: 0 };
    });
    expect(await write()).toMatchObject({ message });
    expect(await write()).toMatchObject({ message: `${'x'.repeat(10_000)}…` });
    expect(sent).toHaveLength(1);
  },
);

test('a recorded outcome that cannot be read is orphaned', async () => {
  const { sent, write, claimByOther, recordByOther } = startWithStore();
  await claimByOther();
  await recordByOther('{"x":1}');
  expect(await write()).toMatchObject({ code: 'ORPHANED' });
  expect(sent).toEqual([]);
});
