import { expect, test } from '@jest/globals';
import { intentOfArguments } from '../../src/idempotency/idempotency-key.ts';
import { readOutcome } from '../../src/idempotency/recorded-outcome.ts';
import { csvUploaded } from '../../src/resolvers/write-member.ts';
import { startTestGateway } from '../support/gateway.ts';
import { write, writes } from '../support/graphql-operation.ts';
import { startHeldService } from '../support/held-service.ts';
import { testIssuer } from '../support/issuer.ts';
import { metricIs } from '../support/metric.ts';
import { json, startService } from '../support/service.ts';
import { scopeOf } from '../support/upstream-call.ts';

const key = { 'idempotency-key': 'intent-1' };
const succeed = json({ invoice_id: 7, message: 'saved', status: 0, unresolved: 'row 3' });
const settleQuery = `mutation ($key: String! = "intent-1", $ageMs: Float) {
  settled: settleWrites(idempotencyKey: $key, ageMs: $ageMs) {
    isComplete
    writes { responseName outcome {
      __typename
      ... on LedgerStatus { invoiceId message }
      ... on WorkflowCsvUploaded { unresolved invoiceId message }
      ... on WorkflowActionCompleted { action }
      ... on LedgerOutcomeUnknown { code }
    } }
  }
}`;

type Gateway = Awaited<ReturnType<typeof startTestGateway>>;

async function settle(gateway: Gateway, variables = {}, headers = {}) {
  const { data, errors } = await gateway.graphql(settleQuery, variables, headers);
  expect(errors).toBeUndefined();
  return data.settled;
}

test('settling returns the outcome of each field, and sends nothing', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);
  const fields = Object.entries(writes).map(([name, field]) => `${name}: ${field}`);
  const limit = { MAX_WRITES_PER_OPERATION: '20' };
  const all = await startTestGateway(service, limit);
  const { data } = await all.graphql(`mutation { ${fields.join(' ')} }`, {}, key);

  const settled = await settle(all, { ageMs: 0 });

  expect(settled.isComplete).toBe(true);
  expect(settled.writes).toHaveLength(fields.length);
  for (const { responseName, outcome } of settled.writes) {
    const { __typename } = data[responseName];
    expect(outcome).toMatchObject({ __typename, invoiceId: '7', message: 'saved' });
  }
  expect(service.received).toHaveLength(fields.length);
  expect(await settle(gateway)).toEqual({ isComplete: false, writes: [] });
});

test('the record of an upload by version 0.2.0 has the fields of its status record', () => {
  const record = { invoiceId: '7', message: 'saved', status: 0 };
  const known = {
    operation: 'updateWorkflowCSV',
    response: { unresolved: 'row 3', record },
  } as const;
  expect(readOutcome(known, scopeOf())).toEqual(known);
  expect(csvUploaded(known.response)).toMatchObject({
    unresolved: 'row 3',
    invoiceId: '7',
    message: 'saved',
  });
});

test('a settled key replays what was executed, and rejects everything else', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);
  const first = await gateway.graphql(write, {}, key);
  await settle(gateway);

  expect((await gateway.graphql(write, {}, key)).data).toEqual(first.data);
  const other = await gateway.graphql(`mutation { other: ${writes.upgradeToHQ} }`, {}, key);
  expect(other.data).toEqual({ other: null });
  expect(other.errors?.[0]).toMatchObject({
    path: ['other'],
    extensions: { code: 'IDEMPOTENCY_KEY_SETTLED', retryable: false },
  });
  expect(service.received).toHaveLength(1);
});

test('an unused key is empty and complete, and is never executed later', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);
  expect(await settle(gateway, { ageMs: 0 })).toEqual({ isComplete: true, writes: [] });
  const { errors } = await gateway.graphql(write, {}, key);
  expect(errors?.[0]?.extensions.code).toBe('IDEMPOTENCY_KEY_SETTLED');
  expect(service.received).toHaveLength(0);
  await metricIs(gateway, 'ledger_gateway_idempotency_total', 1, { result: 'settled' });
});

test('settling waits for a write in flight, and reports it as in progress at the deadline', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service, { UPSTREAM_TIMEOUT_MS: '1000' });
  const first = gateway.graphql(write, {}, key);
  const call = await service.arrived(1);
  const settling = settle(gateway, { ageMs: 0 });
  call.respond();
  const { data } = await first;
  expect((await settling).writes).toMatchObject([
    { responseName: 'result', outcome: { __typename: data.result.__typename } },
  ]);
});

test('a write that was refused leaves nothing to report', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const first = gateway.graphql(write, {}, key);
  const call = await service.arrived(1);
  const settling = settle(gateway, { ageMs: 0 });
  await metricIs(gateway, 'ledger_gateway_idempotency_total', 1, { result: 'claimed' });
  call.response.writeHead(400).end();
  await first;
  expect(await settling).toEqual({ isComplete: true, writes: [] });
});

test('a key belongs to its caller', async () => {
  const service = await startService(succeed);
  const gateway = await startTestGateway(service);
  await gateway.graphql(write, {}, key);
  const authorization = `Bearer ${await (await testIssuer()).token({ sub: 'another' })}`;
  expect(await settle(gateway, { ageMs: 0 }, { authorization })).toMatchObject({ writes: [] });
  expect((await settle(gateway, { ageMs: 0 })).writes).toHaveLength(1);
});

test.each([
  ['idempotencyKey', { key: 'undefined' }],
  ['idempotencyKey', { key: '' }],
  ['ageMs', { ageMs: -1 }],
  ['ageMs', { ageMs: 0.5 }],
  ['ageMs', { ageMs: 31_536_000_001 }],
])('an invalid %s is rejected: %j', async (argument, variables) => {
  const gateway = await startTestGateway(await startService(succeed));
  const { errors } = await gateway.graphql(settleQuery, variables);
  expect(errors?.[0]?.extensions).toMatchObject({
    code: 'BAD_USER_INPUT',
    faults: [{ path: [argument] }],
  });
});

test('a token without sub cannot settle', () => {
  const scope = scopeOf();
  const caller = { ...scope.caller, subject: null };
  expect(() => intentOfArguments('key', 0, { ...scope, caller })).toThrow('claim "sub"');
});

test('without a token, settling is a 401', async () => {
  const gateway = await startTestGateway(await startService(succeed));
  const { errors } = await gateway.graphql(settleQuery, {}, { authorization: '' });
  expect(errors?.[0]?.extensions.code).toBe('UNAUTHENTICATED');
});

test('after a restart of a memory store, a repeat with its age is not executed', async () => {
  const service = await startService(succeed);
  const first = await startTestGateway(service);
  await first.graphql(write, {}, key);
  await first.close();
  const second = await startTestGateway(service);
  const aged = { ...key, 'idempotency-key-age': '60000' };
  const { data } = await second.graphql(write, {}, aged);
  expect(data.result).toMatchObject({ __typename: 'LedgerOutcomeUnknown', code: 'ORPHANED' });
  expect((await settle(second, { ageMs: 60_000 })).isComplete).toBe(false);
  expect(service.received).toHaveLength(1);
  const fresh = { 'idempotency-key': 'intent-2', 'idempotency-key-age': '0' };
  expect((await second.graphql(write, {}, fresh)).data.result.__typename).toBe(
    'WorkflowActionCompleted',
  );
});

test.each(['', '-1', '1.5', '1e3', 'soon', '31536000001', '99999999999', '1, 2'])(
  'the age "%s" is rejected before sending',
  async (age) => {
    const service = await startService(succeed);
    const gateway = await startTestGateway(service);
    const { errors } = await gateway.graphql(write, {}, { ...key, 'idempotency-key-age': age });
    expect(errors?.[0]?.extensions.code).toBe('BAD_USER_INPUT');
    expect(service.received).toHaveLength(0);
  },
);
