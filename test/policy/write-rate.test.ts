import { readFileSync } from 'node:fs';
import { expect, jest, test } from '@jest/globals';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { eventually } from '../../testkit/eventually.ts';
import { writes } from '../../testkit/graphql-operation.ts';
import { isPostgresInstalled, startPostgres } from '../../testkit/postgres.ts';
import { isRedisInstalled, startRedis } from '../../testkit/redis.ts';
import { startWithPolicy } from './policy-stack.ts';

const mutationOf = (field = '') => `mutation { result: ${field} }`;
const save = mutationOf(writes.saveApproverList);
const upgrade = mutationOf(writes.upgradeToHQ);
const restart = mutationOf(writes.restartWorkflow2);
const keyed = () => ({ 'idempotency-key': crypto.randomUUID() });

const policy = {
  operations: { 'workflowAction.UPGRADE_TO_HQ': { writesPerMinute: 1 } },
  writes: { writesPerMinute: 2 },
};

test('beyond the writes of a minute nothing is sent, and Retry-After says when the same request may be', async () => {
  const { service, send, resultOf } = await startWithPolicy(policy);
  const headers = keyed();
  expect(await resultOf(save, {}, headers)).toBe('ApproversSaved');
  for (let n = 0; n < 3; n += 1) expect(await resultOf(save, {}, headers)).toBe('ApproversSaved');
  expect(await resultOf(restart)).toBe('WorkflowActionCompleted');
  const response = await send(save);
  expect(response).toMatchObject({
    status: 200,
    data: { result: null },
    errors: [
      {
        message: expect.stringMatching(
          /^At most 2 writes a minute .* "writes"\. Nothing was sent\.$/,
        ),
        extensions: { code: 'RATE_LIMITED', retryable: true },
      },
    ],
  });
  const seconds = Number(response.headers.get('retry-after'));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(60);
  // Another rule counts by itself, and so does another caller.
  expect(await resultOf(upgrade)).toBe('WorkflowActionCompleted');
  expect(await resultOf(upgrade)).toBe('RATE_LIMITED');
  expect(await resultOf(save, { sub: 'other' })).toBe('ApproversSaved');
  expect(service.received).toHaveLength(4);
});

test('each field of a mutation is counted, and the limited ones can be repeated with the same key', async () => {
  const { service, send, replace } = await startWithPolicy(policy);
  const fields = ['a', 'b', 'c'].map((name) => `${name}: ${writes.saveApproverList}`).join(' ');
  const headers = keyed();
  const first = await send(`mutation { ${fields} }`, {}, headers);
  expect(first.data).toMatchObject({ a: {}, b: {}, c: null });
  expect(first.headers.get('retry-after')).toMatch(/^\d+$/);
  await replace({});
  const second = await send(`mutation { ${fields} }`, {}, headers);
  expect(second.errors).toBeUndefined();
  expect(second.headers.has('retry-after')).toBe(false);
  expect(service.received).toHaveLength(3);
});

test('the count begins anew after a minute', async () => {
  const { resultOf } = await startWithPolicy({ writes: { writesPerMinute: 1 } });
  expect(await resultOf(save)).toBe('ApproversSaved');
  expect(await resultOf(save)).toBe('RATE_LIMITED');
  const now = performance.now.bind(performance);
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => now() + 60_001);
  closeAfterTest(() => clock.mockRestore());
  expect(await resultOf(save)).toBe('ApproversSaved');
});

const redis = isRedisInstalled ? test : test.skip;
const postgres = isPostgresInstalled ? test : test.skip;

redis(
  'gateways on one Redis count together, and each by itself while it cannot be reached',
  async () => {
    const server = await startRedis();
    // A user with only the rights that the documentation names.
    const page = readFileSync(new URL('../../docs/explanation/stores.md', import.meta.url), 'utf8');
    const [, command = ''] = /^ *(ACL SETUSER .*)$/m.exec(page) ?? [];
    await server.command(...command.split(' '));
    const url = server.url.replace('//', '//ledger-gateway:PASSWORD@');
    const variables = { IDEMPOTENCY_STORE: url };
    const gateways = [
      await startWithPolicy(policy, variables),
      await startWithPolicy(policy, variables),
    ];
    await untilCounted(gateways);
    await server.stop();
    const results = await Promise.all(
      gateways.map(async ({ resultOf }) => {
        const all: unknown[] = [];
        for (let n = 0; n < 3; n += 1) all.push(await resultOf(save));
        return all;
      }),
    );
    expect(results).toEqual(Array(2).fill(['ApproversSaved', 'ApproversSaved', 'RATE_LIMITED']));
    await gateways[0]?.gateway.logLine({
      msg: 'cannot count writes in the store of idempotency keys: this process counts by itself',
    });
  },
);

postgres('gateways on one PostgreSQL count together, and create the table', async () => {
  const server = await startPostgres();
  const variables = { IDEMPOTENCY_STORE: server.url };
  const gateways = [
    await startWithPolicy(policy, variables),
    await startWithPolicy(policy, variables),
  ];
  await untilCounted(gateways);
  const rows = await server.query('SELECT points FROM ledger_gateway_write_count');
  expect(rows).toHaveLength(1);
});

postgres(
  'a role that may not create the table gets a count of each process, and its keys work',
  async () => {
    const server = await startPostgres();
    const first = await startWithPolicy({}, { IDEMPOTENCY_STORE: server.url });
    // A new store waits for objections before it takes the first key.
    await eventually(async () =>
      expect(await first.resultOf(save, {}, keyed())).toBe('ApproversSaved'),
    );
    await server.query('CREATE ROLE limited LOGIN');
    await server.query('GRANT ALL ON ledger_gateway_record TO limited');
    await server.query('REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    const url = server.url.replace('postgres@', 'limited@');
    const { resultOf, gateway } = await startWithPolicy(policy, { IDEMPOTENCY_STORE: url });
    const results: unknown[] = [];
    for (let n = 0; n < 3; n += 1) results.push(await resultOf(save, {}, keyed()));
    expect(results).toEqual(['ApproversSaved', 'ApproversSaved', 'RATE_LIMITED']);
    const msg =
      'cannot count writes in the store of idempotency keys: this process counts by itself';
    expect(await gateway.logLine({ msg })).toMatchObject({
      fault: expect.stringContaining('CREATE TABLE IF NOT EXISTS ledger_gateway_write_count'),
    });
  },
);

/** Sends writes in turns until the shared count is used up. */
async function untilCounted(gateways: Awaited<ReturnType<typeof startWithPolicy>>[]) {
  const [one, two] = gateways;
  expect(await one?.resultOf(save, { sub: 'shared' })).toBe('ApproversSaved');
  expect(await two?.resultOf(save, { sub: 'shared' })).toBe('ApproversSaved');
  expect(await one?.resultOf(save, { sub: 'shared' })).toBe('RATE_LIMITED');
  expect(await two?.resultOf(save, { sub: 'shared' })).toBe('RATE_LIMITED');
}
