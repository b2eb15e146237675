import { expect, test } from '@jest/globals';
import { pino } from 'pino';
import { Registry } from 'prom-client';
import { Claims } from '../../src/idempotency/claims.ts';
import { Completeness } from '../../src/idempotency/completeness.ts';
import { fingerprintOf, intentOf } from '../../src/idempotency/idempotency-key.ts';
import { createIdempotencyMetrics } from '../../src/idempotency/idempotency-metrics.ts';
import { IdempotentCalls } from '../../src/idempotency/idempotent-call.ts';
import { OpenWrites } from '../../src/idempotency/open-writes.ts';
import { createSettle } from '../../src/idempotency/settle.ts';
import { SqliteStore } from '../../src/idempotency/sqlite-store.ts';
import {
  COMPLETENESS_KEY,
  type IdempotencyStore,
  StoreUnavailable,
} from '../../src/idempotency/store.ts';
import { createStoreWatch } from '../../src/idempotency/store-watch.ts';
import type { Calls } from '../../src/upstream/call.ts';
import { operations } from '../../src/upstream/operations.ts';
import { OutcomeUnknown } from '../../src/upstream/upstream-error.ts';
import { claimsOn, RETENTION_MS } from '../support/claims.ts';
import { closeAfterTest } from '../support/cleanup.ts';
import { startTestGateway } from '../support/gateway.ts';
import { outcomeFields, read, write, writes } from '../support/graphql-operation.ts';
import { startHeldService } from '../support/held-service.ts';
import { testIssuer } from '../support/issuer.ts';
import { metric, metricIs, sumOf } from '../support/metric.ts';
import { json, type Reply, reply, startService } from '../support/service.ts';
import { scopeOf, upgradeToHq } from '../support/upstream-call.ts';

const key = { 'idempotency-key': 'intent-1' };
const save = (name: string) =>
  `mutation { result: saveApprovers(approvers: [{ name: "${name}" }]) { ${outcomeFields} } }`;

const results = (gateway: { url: string }, result: string) =>
  metric(gateway, 'ledger_gateway_idempotency_total', { result });

const succeed = json({ invoice_id: 7, message: 'saved', status: 0, unresolved: 'row 3' });

test.each(Object.entries(writes))('%s with a key is sent once and replayed', async (_, field) => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);

  const first = await gateway.graphql(`mutation { result: ${field} }`, {}, key);
  const repeat = await gateway.graphql(`mutation { result: ${field} }`, {}, key);

  expect(first.errors).toBeUndefined();
  expect(repeat.data).toEqual(first.data);
  expect(first.headers.get('idempotent-replayed')).toBeNull();
  expect(repeat.headers.get('idempotent-replayed')).toBe('true');
  expect(service.received).toHaveLength(1);
  expect(await results(gateway, 'claimed')).toBe(1);
  expect(await results(gateway, 'replayed')).toBe(1);
});

test('a field may have the name of a property that every object has', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);
  const field = (name: string) =>
    gateway.graphql(`mutation { ${name}: ${writes.upgradeToHQ} }`, {}, key);
  for (const name of ['constructor', '__proto__', 'toString', 'constructor', '__proto__']) {
    expect((await field(name)).errors).toBeUndefined();
  }
  expect(service.received).toHaveLength(3);
});

test('a key is rejected for more fields than one mutation may have', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service, { MAX_WRITES_PER_OPERATION: '2' });
  const field = (name: string) =>
    gateway.graphql(`mutation { ${name}: ${writes.upgradeToHQ} }`, {}, key);
  for (const name of ['a', 'b', 'a']) expect((await field(name)).errors).toBeUndefined();
  const { errors } = await field('c');
  expect(errors?.[0]).toMatchObject({
    path: ['c'],
    message: expect.stringContaining('as many fields as one mutation may have'),
    extensions: { code: 'IDEMPOTENCY_KEY_REUSED', retryable: false },
  });
  expect(service.received).toHaveLength(2);
});

test('a write without a key is sent each time', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);

  await gateway.graphql(write);
  const { headers } = await gateway.graphql(write);

  expect(service.received).toHaveLength(2);
  expect(headers.get('idempotent-replayed')).toBeNull();
  expect(await metric(gateway, 'ledger_gateway_idempotency_total')).toBe(0);
});

test('a key on a query is ignored', async () => {
  const service = await startService(json({ service_status: { status: 0 }, list: [] }));
  const gateway = await startTestGateway(service);

  await gateway.graphql(read, {}, { 'idempotency-key': 'not valid at all' });
  await gateway.graphql(read, {}, { 'idempotency-key': 'not valid at all' });

  expect(service.received).toHaveLength(2);
});

test('a key counts for each root field by its response name', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);
  const both = `mutation { a: ${writes.upgradeToHQ} b: ${writes.upgradeToHQ} }`;

  const first = await gateway.graphql(both, {}, key);
  const repeat = await gateway.graphql(both, {}, key);

  expect(repeat.data).toEqual(first.data);
  expect(service.received).toHaveLength(2);
});

test('the same key for another request is an error and sends nothing', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);

  await gateway.graphql(save('Ada'), {}, key);
  const { status, data, errors } = await gateway.graphql(save('Bob'), {}, key);

  expect(status).toBe(200);
  expect(data).toEqual({ result: null });
  expect(errors?.[0]?.extensions).toMatchObject({
    code: 'IDEMPOTENCY_KEY_REUSED',
    retryable: false,
  });
  expect(service.received).toHaveLength(1);
  expect(await results(gateway, 'reused')).toBe(1);
});

test('a new token of the same caller is the same caller, and another caller is not', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);
  const { token } = await testIssuer();
  const headersOf = async (sub: string) => ({
    ...key,
    authorization: `Bearer ${await token({ sub, expiresIn: `${Math.ceil(Math.random() * 9)}h` })}`,
  });

  await gateway.graphql(write, {}, await headersOf('ada'));
  const repeat = await gateway.graphql(write, {}, await headersOf('ada'));
  expect(repeat.headers.get('idempotent-replayed')).toBe('true');
  expect(service.received).toHaveLength(1);

  const other = await gateway.graphql(write, {}, await headersOf('bob'));
  expect(other.headers.get('idempotent-replayed')).toBeNull();
  expect(service.received).toHaveLength(2);
});

test.each([
  ['"intent-1"', 'intent-1'],
  ['"with\\"quotes\\\\"', '"with\\"quotes\\\\"'],
])('the key %s with the quotes of a structured field is the key %s', async (first, second) => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);

  await gateway.graphql(write, {}, { 'idempotency-key': first });
  const { headers } = await gateway.graphql(write, {}, { 'idempotency-key': second });

  expect(headers.get('idempotent-replayed')).toBe('true');
  expect(service.received).toHaveLength(1);
});

test.each([
  ['empty', ''],
  ['empty in quotes', '""'],
  ['with a space', 'a b'],
  ['sent twice', 'a, b'],
  ['with an open quote', '"a'],
  ['with parameters', '"a";b=1'],
  ['not ASCII', 'caf\u00e9'],
  ['of 256 characters', 'k'.repeat(256)],
  ['undefined', 'undefined'],
  ['null', '"null"'],
  ['NaN', 'NaN'],
])('a key %s is rejected before sending', async (_, value) => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);

  const { errors } = await gateway.graphql(write, {}, { 'idempotency-key': value });

  expect(errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
  expect(errors?.[0]?.message).toContain('Idempotency-Key');
  expect(service.received).toHaveLength(0);
});

test('a key of 255 characters is accepted', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);
  const { errors } = await gateway.graphql(write, {}, { 'idempotency-key': 'k'.repeat(255) });
  expect(errors).toBeUndefined();
});

test('IDEMPOTENCY_REQUIRED rejects a mutation without a key', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service, { IDEMPOTENCY_REQUIRED: 'true' });

  const without = await gateway.graphql(write);
  expect(without.errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
  expect(service.received).toHaveLength(0);

  const { errors } = await gateway.graphql(write, {}, key);
  expect(errors).toBeUndefined();
  expect((await gateway.graphql(read)).errors?.[0]?.extensions.code).not.toBe('BAD_USER_INPUT');
});

const unknownReplies: [name: string, code: string, Reply][] = [
  ['a reset', 'UPSTREAM_UNAVAILABLE', (response) => void response.socket?.resetAndDestroy()],
  ['a 500', 'UPSTREAM_FAILED', reply(500)],
  ['a redirect', 'UPSTREAM_INVALID_RESPONSE', reply(307, '', { location: '/' })],
  ['no JSON', 'UPSTREAM_INVALID_RESPONSE', reply(200, 'done')],
];

test.each(unknownReplies)(
  'an unknown outcome after %s is replayed, never sent again',
  async (...row) => {
    const [, code, behaviour] = row;
    const service = await startService(behaviour);
    const gateway = await startTestGateway(service);

    const first = await gateway.graphql(write, {}, key);
    const repeat = await gateway.graphql(write, {}, key);

    expect(first.data.result).toMatchObject({ __typename: 'LedgerOutcomeUnknown', code });
    expect(repeat.data).toEqual(first.data);
    expect(repeat.headers.get('idempotent-replayed')).toBe('true');
    expect(service.received).toHaveLength(1);
  },
);

test.each([1, 2, 3, 77])('a record with status %d is replayed', async (status) => {
  const service = await startService(
    json(`{ "invoice_id": 9007199254740993, "message": "m", "status": ${status} }`),
  );
  const gateway = await startTestGateway(service);

  const first = await gateway.graphql(write, {}, key);
  const repeat = await gateway.graphql(write, {}, key);

  expect(repeat.data).toEqual(first.data);
  expect(service.received).toHaveLength(1);
});

test.each([400, 401, 403, 429])('after a %d the key is free again', async (status) => {
  let refusals = 0;
  const service = await startService((response, received) => {
    refusals += 1;
    return (refusals === 1 ? reply(status) : succeed)(response, received);
  });
  const gateway = await startTestGateway(service);

  const refused = await gateway.graphql(write, {}, key);
  const repeat = await gateway.graphql(write, {}, key);

  expect(refused.errors).toHaveLength(1);
  expect(repeat.errors).toBeUndefined();
  expect(repeat.headers.get('idempotent-replayed')).toBeNull();
  expect(service.received).toHaveLength(2);
});

test('repeats in flight join the first request', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const first = gateway.graphql(write, {}, key);
  const call = await service.arrived(1);
  const repeats = [gateway.graphql(write, {}, key), gateway.graphql(write, {}, key)];
  const reused = await gateway.graphql(save('Ada'), {}, key);
  expect(reused.errors?.[0]?.extensions.code).toBe('IDEMPOTENCY_KEY_REUSED');
  await metricIs(gateway, 'ledger_gateway_idempotency_total', 2, { result: 'joined' });

  call.respond();
  const { data } = await first;
  for (const repeat of await Promise.all(repeats)) {
    expect(repeat.data).toEqual(data);
    expect(repeat.headers.get('idempotent-replayed')).toBe('true');
  }
  expect(service.requests).toHaveLength(1);
});

test('a repeat that waits until its deadline learns that the first is in progress', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_TIMEOUT_MS: '600' });
  const first = gateway.graphql(write, {}, key);
  await service.arrived(1);
  // Repeats that start with the first end with it; each later one ends later.
  const repeat = await gateway.graphql(write, {}, key);
  expect(['UPSTREAM_TIMEOUT', 'IN_PROGRESS']).toContain(repeat.data.result.code);
  expect((await first).data.result.code).toBe('UPSTREAM_TIMEOUT');
  expect((await gateway.graphql(write, {}, key)).data.result.code).toBe('UPSTREAM_TIMEOUT');
  expect(service.requests).toHaveLength(1);
});

test('the outcome is recorded although the client of the first request disconnected', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const client = new AbortController();
  const first = gateway.post({ query: write }, key, client.signal);
  const call = await service.arrived(1);
  client.abort();
  await expect(first).rejects.toThrow();
  await gateway.logLine({ msg: 'request', status: 499 });

  const repeat = gateway.graphql(write, {}, key);
  call.respond();
  expect((await repeat).data.result.__typename).toBe('WorkflowActionCompleted');
  expect(service.requests).toHaveLength(1);
});

test('each write is logged before it is sent, with a hash of the caller and of the key', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const request = gateway.graphql(write, {}, { ...key, 'x-request-id': 'audit-1' });
  const call = await service.arrived(1);

  const line = gateway.logs.find(({ msg }) => msg === 'sent');
  expect(line).toMatchObject({ requestId: 'audit-1', operation: 'upgradeToHQ' });
  expect(line?.caller).toEqual(expect.any(String));
  expect(line?.claim).toEqual(expect.any(String));
  expect(gateway.logText()).not.toContain('intent-1');
  call.respond();
  await request;
});

test.each(Object.keys(writes).map((name) => name as keyof typeof operations))(
  'a recorded response of %s is read back unchanged',
  (name) => {
    const { decode, effect, recorded } = operations[name];
    const response = decode({ invoice_id: 7, message: 'm', status: 77 }, 0);
    expect(effect).toBe('write');
    expect(recorded?.parse(JSON.parse(JSON.stringify(response)))).toEqual(response);
  },
);

test('a repeat in flight is sent if the first request had no effect', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
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

/** Calls with a key, on a store that another process uses as well, and which can fail. */
async function startWithStore({ timeoutMs = 10_000, failWhenSent = false, message = '' } = {}) {
  const limits = { retentionMs: RETENTION_MS, maxKeys: 10, maxBytes: 2 ** 30 };
  const memory = new SqliteStore({ path: ':memory:', ...limits });
  let failure: StoreUnavailable | undefined;
  let reads = 0;
  const store: IdempotencyStore = {
    exclusiveSince: -Infinity,
    usage: undefined,
    isContinuation: () => true,
    sizeOf: (key) => memory.sizeOf(key),
    async read(key) {
      if (failure) throw failure;
      if (key !== COMPLETENESS_KEY) reads += 1;
      return memory.read(key);
    },
    async swap(change) {
      if (failure) throw failure;
      return memory.swap(change);
    },
    close: () => memory.close(),
  };
  const other = claimsOn(memory);
  closeAfterTest(() => other.close());
  const watch = createStoreWatch(silent);
  const options = { store, retentionMs: RETENTION_MS, quarantineMs: 0, log: silent, watch };
  const completeness = new Completeness(options);
  closeAfterTest(() => completeness.close());
  const sent: unknown[] = [];
  const registry = new Registry();
  const parts = {
    calls: {
      read: async () => {
        throw new Error('not a write');
      },
      write: (async ({ timeoutMs }, { requestId }) => {
        sent.push(timeoutMs);
        if (failWhenSent) failure = new StoreUnavailable('full');
        if (message !== '') return { invoiceId: null, message, status: 0 };
        return new OutcomeUnknown('UPSTREAM_FAILED', requestId);
      }) as Calls['write'],
    },
    claims: new Claims(store, completeness, 5),
    openWrites: new OpenWrites(silent),
    timeoutMs,
    isRequired: false,
    metrics: createIdempotencyMetrics(registry, store, 'memory', silent, watch),
    log: silent,
  };
  const calls = new IdempotentCalls(parts);
  const turns: { bytes: number; reads: number }[] = [];
  const turn = (bytes: number) => void turns.push({ bytes, reads });
  const scope = { ...scopeOf(), idempotencyKey: 'intent-1', turn };
  const { key } = intentOf('intent-1', scope);
  return {
    sent,
    turns,
    write: () => calls.write(upgradeToHq, scope),
    settle: () => createSettle(parts)('intent-1', 0, scope),
    unknownOutcomes: async () =>
      sumOf(await registry.metrics(), 'ledger_gateway_unknown_outcomes_total'),
    /** The claim of the other process on the same key. */
    claimByOther: (more = {}) => other.claim(key, 'other', { fingerprint, ...more }),
    other,
    key,
    reads: () => reads,
    fail(error: StoreUnavailable | undefined) {
      failure = error;
    },
  };
}

const silent = pino({ level: 'silent' });
const fingerprint = fingerprintOf(upgradeToHq);

test('a repeat whose first request is in flight is not told that nothing was sent', async () => {
  const { sent, write, claimByOther, fail, reads } = await startWithStore();
  await claimByOther();
  const repeat = write();
  while (reads() < 1) await new Promise(setImmediate);
  fail(new StoreUnavailable('unreachable'));
  expect(await repeat).toMatchObject({ code: 'IN_PROGRESS' });
  expect(sent).toEqual([]);
});

test('without the store, a write is rejected before sending', async () => {
  const { sent, write, fail } = await startWithStore();
  fail(new StoreUnavailable('unreachable'));
  await expect(write()).rejects.toMatchObject({ code: 'IDEMPOTENCY_UNAVAILABLE' });
  expect(sent).toEqual([]);
});

test('a repeat that finds the key free after waiting has only the rest of its deadline', async () => {
  const { sent, write, claimByOther, other, key } = await startWithStore({ timeoutMs: 1000 });
  await claimByOther();
  const repeat = write();
  await other.release(key, 'other');
  await repeat;
  expect(Number(sent[0])).toBeLessThan(1000);
});

test('a repeat of an orphaned write is never sent', async () => {
  const { sent, write, claimByOther } = await startWithStore();
  await claimByOther({ leaseMs: 0 });
  expect(await write()).toMatchObject({ code: 'ORPHANED' });
  expect(sent).toEqual([]);
});

test('an orphaned write is counted once, also when settling notices it', async () => {
  const { settle, write, claimByOther, unknownOutcomes } = await startWithStore();
  await claimByOther({ leaseMs: 0 });
  for (let n = 0; n < 2; n++) {
    expect((await settle()).writes).toMatchObject([{ outcome: { code: 'ORPHANED' } }]);
    await write();
    expect(await unknownOutcomes()).toBe(1);
  }
});

test('a long outcome is recorded and replayed in turns, and not read before', async () => {
  const { write, turns, reads } = await startWithStore({ message: 'x'.repeat(100_000) });
  await write();
  expect(turns.splice(0).some(({ bytes }) => bytes > 600_000)).toBe(true);
  const before = reads();
  expect(await write()).toMatchObject({ message: 'x'.repeat(100_000) });
  expect(turns.find(({ bytes }) => bytes > 300_000)).toMatchObject({ reads: before });
});

test('a recorded outcome that cannot be read is orphaned', async () => {
  const { sent, write, claimByOther, other, key } = await startWithStore();
  await claimByOther();
  await other.record(key, 'other', '{"x":1}');
  expect(await write()).toMatchObject({ code: 'ORPHANED' });
  expect(sent).toEqual([]);
});

test('while an outcome cannot be recorded, repeats get it from this process', async () => {
  const { sent, write } = await startWithStore({ failWhenSent: true });
  const outcome = await write();
  expect(outcome).toMatchObject({ code: 'UPSTREAM_FAILED' });
  expect(await write()).toBe(outcome);
  expect(sent).toHaveLength(1);
});
