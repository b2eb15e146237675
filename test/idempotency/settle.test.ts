import type { ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import { readRecord } from '../../src/idempotency/idempotent-call.ts';
import { operations } from '../../src/upstream/declarations.ts';
import { agedStore } from '../../testkit/aged-store.ts';
import type { startTestGateway } from '../../testkit/gateway.ts';
import { write, writes } from '../../testkit/graphql-operation.ts';
import { metricIs } from '../../testkit/metric.ts';
import { json } from '../../testkit/service.ts';
import { createMemory, createReservation } from '../support/admission.ts';
import { shareGateway } from '../support/shared-gateway.ts';
import { startHeldStack, startStack } from '../support/stack.ts';

const key = { 'idempotency-key': 'intent-1' };
const succeed = json({ invoice_id: 7, message: 'saved', status: 0, unresolved: 'row 3' });
const completed = { __typename: 'WorkflowActionCompleted' };
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

type Call = { response: ServerResponse; respond(): void };
type Gateway = Awaited<ReturnType<typeof startTestGateway>>;

const setReply = shareGateway();

async function settle(gateway: Gateway, variables = {}, headers = {}) {
  const { data, errors } = await gateway.graphql(settleQuery, variables, headers);
  expect(errors).toBeUndefined();
  return data.settled;
}

test('settling returns the outcome of each field and sends nothing, and the key still replays', async () => {
  const { service, gateway } = await startStack(succeed, {
    MAX_WRITES_PER_OPERATION: '20',
    IDEMPOTENCY_STORE: await agedStore(),
  });
  const fields = Object.entries(writes).map(([name, field]) => `${name}: ${field}`);
  const send = async () =>
    (await gateway.graphql(`mutation { ${fields.join(' ')} }`, {}, key)).data;
  const data = await send();
  const settled = await settle(gateway, { ageMs: 0 });
  expect(settled.isComplete).toBe(true);
  expect(settled.writes).toHaveLength(fields.length);
  for (const { responseName, outcome } of settled.writes) {
    const { __typename } = data[responseName];
    expect(outcome).toMatchObject({ __typename, invoiceId: '7', message: 'saved' });
  }
  expect(await send()).toEqual(data);
  expect(service.received).toHaveLength(fields.length);
});

test('a recorded outcome for which there is no memory is read with short texts', () => {
  const { upgradeToHQ } = operations;
  const of = (message: string) => ({ response: { invoiceId: '7', message, status: 0 } });
  const outcome = { operation: 'upgradeToHQ', ...of('x'.repeat(100_000)) };
  const read = (limitBytes: number) =>
    readRecord(outcome, [upgradeToHQ], createReservation(createMemory(limitBytes)));
  const memberOf = (message: string) => ({
    ...completed,
    action: 'UPGRADE_TO_HQ',
    invoiceId: '7',
    message,
  });
  expect(read(1_000_000)).toEqual(memberOf('x'.repeat(100_000)));
  expect(read(150_000)).toEqual(memberOf(`${'x'.repeat(10_000)}…`));
});

test('an unused key is empty and complete, and is never executed later', async () => {
  const { service, gateway } = await startStack(succeed, { IDEMPOTENCY_STORE: await agedStore() });
  expect(await settle(gateway, { ageMs: 0 })).toEqual({ isComplete: true, writes: [] });
  const { data, errors } = await gateway.graphql(write, {}, key);
  expect(data).toEqual({ result: null });
  const extensions = { code: 'IDEMPOTENCY_KEY_SETTLED', retryable: false };
  expect(errors).toMatchObject([{ path: ['result'], extensions }]);
  expect(service.received).toHaveLength(0);
  await metricIs(gateway, 'ledger_gateway_idempotency_total', 1, { result: 'settled' });
});

test.each<[string, (call: Call) => unknown, object[]]>([
  ['succeeds', ({ respond }) => respond(), [{ responseName: 'result', outcome: completed }]],
  ['is refused, and leaves nothing to report', ({ response }) => response.writeHead(400).end(), []],
])('settling waits for a write in flight that %s', async (_, end, writes) => {
  const { service, gateway } = await startHeldStack({ IDEMPOTENCY_STORE: await agedStore() });
  const first = gateway.graphql(write, {}, key);
  const call = await service.arrived(1);
  const settling = settle(gateway, { ageMs: 0 });
  end(call);
  await first;
  expect(await settling).toMatchObject({ isComplete: true, writes });
});

test.each([
  [{ key: '' }, 'idempotencyKey', expect.any(String)],
  [{ ageMs: -1 }, 'ageMs', '"ageMs" must be an integer from 0 to 31536000000.'],
  [{ ageMs: 0.5 }, 'ageMs', '"ageMs" must be an integer from 0 to 31536000000.'],
  [{ ageMs: 31_536_000_001 }, 'ageMs', '"ageMs" must be an integer from 0 to 31536000000.'],
])('the argument %j is rejected with its path', async (variables, argument, message) => {
  const { gateway } = setReply(succeed);
  const { errors } = await gateway.graphql(settleQuery, variables);
  const faults = [{ path: [argument], message }];
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', faults } }]);
});
