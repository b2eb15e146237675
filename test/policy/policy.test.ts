import { hash } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { read, writes } from '../../testkit/graphql-operation.ts';
import { startWithPolicy } from './policy-stack.ts';

const mutationOf = (field = '') => `mutation { result: ${field} }`;
const save = mutationOf(writes.saveApproverList);
const upload = mutationOf(writes.updateWorkflowCSV);
const upgrade = mutationOf(writes.upgradeToHQ);
const restart = mutationOf(writes.restartWorkflow2);
const keyed = () => ({ 'idempotency-key': crypto.randomUUID() });

const rejected = (code: string, message: string, retryable = false) => ({
  status: 200,
  data: { result: null },
  errors: [{ message, path: ['result'], extensions: { code, retryable } }],
});

test('a write needs the claims of its operation, and nothing is sent without them', async () => {
  const { send, service, resultOf } = await startWithPolicy({
    operations: {
      saveApprovers: { claims: { scope: ['ledger:approvers', 'ledger:all'] } },
      uploadWorkflowCsv: { claims: { scope: ['ledger:files'], 'realm_access.roles': ['clerk'] } },
      workflowAction: { claims: { 'https://example.com/roles': ['operator'] } },
    },
  });
  expect(await send(save)).toMatchObject(
    rejected(
      'FORBIDDEN',
      'The policy requires that the claim "scope" of the token contains "ledger:approvers" or "ledger:all". Nothing was sent.',
    ),
  );
  const insufficient: [query: string, claims: Record<string, unknown>][] = [
    [save, { scope: 'ledger:approvers2 ledger:approver' }],
    [save, { scope: ['ledger:approvers other'] }],
    [save, { scope: { 'ledger:approvers': true } }],
    [save, { scope: 1 }],
    [upload, { scope: 'ledger:files' }],
    [upload, { scope: 'ledger:files', 'realm_access.roles': 'other' }],
    [restart, { roles: ['operator'], https: { '//example': { 'com/roles': ['admin'] } } }],
  ];
  for (const [query, claims] of insufficient) {
    expect([claims, await resultOf(query, { claims })]).toEqual([claims, 'FORBIDDEN']);
  }
  expect(service.received).toEqual([]);
  const sufficient: typeof insufficient = [
    [save, { scope: 'other ledger:all' }],
    [save, { scope: ['other', 'ledger:approvers'] }],
    [upload, { scope: ' ledger:files ', realm_access: { roles: ['clerk'] } }],
    // The name as it stands is looked up first.
    [upload, { scope: 'ledger:files', 'realm_access.roles': 'clerk', realm_access: {} }],
    [restart, { 'https://example.com/roles': ['operator'] }],
  ];
  for (const [query, claims] of sufficient) {
    expect(await resultOf(query, { claims })).not.toBe('FORBIDDEN');
  }
  expect(service.received).toHaveLength(sufficient.length);
});

test('only scope and scp are lists of words in a text; the text of another claim is one value', async () => {
  const values = ['admin', 'Team lead'];
  const resultsOf = async (name: string) => {
    const { resultOf } = await startWithPolicy({ writes: { claims: { [name]: values } } });
    return async (claim: unknown) => [
      name,
      claim,
      await resultOf(save, { claims: { [name]: claim } }),
    ];
  };
  for (const name of ['scope', 'scp']) {
    const result = await resultsOf(name);
    expect(await result('other admin')).toEqual([name, 'other admin', 'ApproversSaved']);
    expect(await result('Team lead')).toEqual([name, 'Team lead', 'FORBIDDEN']);
  }
  for (const name of ['role', 'roles', 'groups', 'user.scope']) {
    const result = await resultsOf(name);
    for (const claim of ['Payroll admin', 'admin ', 'Team', 'lead', ['Payroll admin']]) {
      expect(await result(claim)).toEqual([name, claim, 'FORBIDDEN']);
    }
    for (const claim of ['admin', 'Team lead', ['other', 'Team lead']]) {
      expect(await result(claim)).toEqual([name, claim, 'ApproversSaved']);
    }
  }
});

test('a name of a nested object may have dots, as a client of an issuer does', async () => {
  const claims = { 'resource_access.ledger.example.com.roles': ['operator'] };
  const { resultOf, service } = await startWithPolicy({ writes: { claims } });
  const tokenOf = (client: string) => ({
    claims: { resource_access: { ledger: {}, [client]: { roles: ['operator'] } } },
  });
  expect(await resultOf(save, tokenOf('ledger.example'))).toBe('FORBIDDEN');
  expect(await resultOf(save, tokenOf('ledger.example.com'))).toBe('ApproversSaved');
  expect(service.received).toHaveLength(1);
});

test('names and values of prototypes are claims like any other', async () => {
  const names = [
    'constructor',
    'constructor.name',
    'toString.length',
    'a.__proto__',
    'a.b.__proto__.c',
  ];
  for (const name of names) {
    const claims = JSON.parse(`{ ${JSON.stringify(name)}: ["Object", "Function", "1"] }`);
    const { resultOf, service } = await startWithPolicy({ writes: { claims } });
    expect([name, await resultOf(save, { claims: { a: {} } })]).toEqual([name, 'FORBIDDEN']);
    expect([name, await resultOf(save, { claims })]).toEqual([name, 'ApproversSaved']);
    expect(service.received).toHaveLength(1);
  }
});

test('reads can be restricted, also those of references to entities', async () => {
  const { send, service } = await startWithPolicy({
    operations: { glCodes: { claims: { roles: ['reader'] } } },
  });
  const references = `{ result: _entities(representations: [{ __typename: "GlCode", id: "5/north/4010" }]) { __typename } }`;
  for (const query of [read, references]) {
    const { errors, data } = await send(query);
    expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN', retryable: false } }]);
    expect(data.result?.[0] ?? null).toBeNull();
  }
  expect(service.received).toEqual([]);
  for (const query of [read, references]) {
    expect((await send(query, { claims: { roles: ['reader'] } })).errors).toBeUndefined();
  }
  expect(service.received).toHaveLength(2);
});

test('the more specific name counts for each key, and a stop of all writes for all', async () => {
  const claims = { roles: ['operator'] };
  const { resultOf, replace, service } = await startWithPolicy({
    operations: {
      workflowAction: { claims, stopped: 'No actions.' },
      'workflowAction.RESTART': { stopped: null },
      'workflowAction.UPGRADE_TO_HQ': { claims: { roles: ['admin'] } },
    },
    writes: { claims: { roles: ['clerk'] } },
  });
  const results = async (role: string) => {
    const token = { claims: { roles: [role] } };
    return Promise.all([restart, upgrade, save].map((query) => resultOf(query, token)));
  };
  const done = 'WorkflowActionCompleted';
  expect(await results('operator')).toEqual([done, 'FORBIDDEN', 'FORBIDDEN']);
  expect(await results('admin')).toEqual(['FORBIDDEN', 'OPERATION_STOPPED', 'FORBIDDEN']);
  expect(await results('clerk')).toEqual(['FORBIDDEN', 'FORBIDDEN', 'ApproversSaved']);
  expect(service.received).toHaveLength(2);
  await replace({
    operations: { 'workflowAction.RESTART': { stopped: null }, saveApprovers: { claims: null } },
    writes: { claims, stopped: 'Nothing.' },
  });
  expect(await results('operator')).toEqual(Array(3).fill('OPERATION_STOPPED'));
  expect(await results('other')).toEqual(['FORBIDDEN', 'FORBIDDEN', 'OPERATION_STOPPED']);
  expect(service.received).toHaveLength(2);
});

test('a stop sends nothing, replays and settles what was executed before, and frees the key of the rest', async () => {
  const { send, service, replace } = await startWithPolicy({});
  const executed = keyed();
  const first = await send(save, {}, executed);
  const stopped = 'Month-end closing until 18:00. “Überweisungen”';
  expect(await replace({ operations: { saveApprovers: { stopped } } })).not.toHaveProperty('fault');

  const own = keyed();
  for (const headers of [own, {}, own]) {
    expect(await send(save, {}, headers)).toMatchObject(rejected('OPERATION_STOPPED', stopped));
  }
  const replayed = await send(save, {}, executed);
  expect(replayed.data).toEqual(first.data);
  expect(replayed.headers.get('idempotent-replayed')).toBe('true');
  const settle = (key: string) =>
    `mutation { settleWrites(idempotencyKey: "${key}", ageMs: 0) { isComplete writes { responseName outcome { __typename } } } }`;
  expect((await send(settle(executed['idempotency-key']))).data.settleWrites.writes).toEqual([
    { responseName: 'result', outcome: { __typename: 'ApproversSaved' } },
  ]);
  expect((await send(read)).data.result.__typename).toBe('GlCodeList');
  const mixed = await send(`mutation { a: ${writes.saveApproverList} b: ${writes.upgradeToHQ} }`);
  expect(mixed.data).toMatchObject({ a: null, b: { __typename: 'WorkflowActionCompleted' } });
  const sent = () => service.received.filter(({ url }) => url === '/saveApproverList').length;
  expect(sent()).toBe(1);

  await replace({});
  expect((await send(save, {}, own)).data.result.__typename).toBe('ApproversSaved');
  expect(sent()).toBe(2);
});

test('a write that waits for its turn or for its connection when the stop begins is not sent', async () => {
  const { service, gateway, resultOf, replace } = await startWithPolicy(
    {},
    { UPSTREAM_MAX_CONCURRENCY: '1' },
    () => {},
  );
  const first = resultOf(save);
  const held = await service.arrived(1);
  const second = resultOf(save, {}, keyed());
  const third = resultOf(upgrade);
  await replace({ writes: { stopped: 'Stop.' } });
  held.respond();
  expect(await Promise.all([first, second, third])).toEqual([
    'ApproversSaved',
    'OPERATION_STOPPED',
    'OPERATION_STOPPED',
  ]);
  expect(service.received).toHaveLength(1);
  // Neither the log nor the record names a write that waited for its turn as sent.
  expect(gateway.logs.filter(({ msg }) => msg === 'sent')).toEqual([]);
});

test('a repeat that waits for a write gets its outcome after the stop has begun', async () => {
  const { service, resultOf, replace } = await startWithPolicy({}, {}, () => {});
  const headers = keyed();
  const first = resultOf(save, {}, headers);
  const held = await service.arrived(1);
  const repeat = resultOf(save, {}, headers);
  await replace({ writes: { stopped: 'Stop.' } });
  held.respond();
  expect(await Promise.all([first, repeat])).toEqual(['ApproversSaved', 'ApproversSaved']);
});

test('a changed policy counts for cached tokens and is logged with its hash; an invalid one changes nothing', async () => {
  const { file, gateway, resultOf, replace } = await startWithPolicy({
    writes: { claims: { roles: ['admin'] } },
  });
  expect(await resultOf(save, { claims: { roles: ['clerk'] } })).toBe('FORBIDDEN');
  const authorization = { authorization: `Bearer ${gateway.token}` };
  expect(await resultOf(save, {}, authorization)).toBe('FORBIDDEN');
  const open = JSON.stringify({ writes: {} });
  expect(await replace(open)).toMatchObject({ files: [file], sha256: hash('sha256', open) });
  expect(await resultOf(save, {}, authorization)).toBe('ApproversSaved');

  await replace({ writes: { stopped: 'Stop.' } });
  for (const invalid of ['{', '{"writes":{"stoped":null}}', '']) {
    expect(await replace(invalid)).toMatchObject({
      level: 40,
      msg: 'cannot apply changed files',
      fault: expect.stringContaining(`${file} must be a policy`),
    });
    expect(await resultOf(save, {}, authorization)).toBe('OPERATION_STOPPED');
  }
  const { sha256 } = await replace(open);
  expect(sha256).toBe(hash('sha256', open));
  expect(await resultOf(save, {}, authorization)).toBe('ApproversSaved');
});

test('a rejection is an outcome of the field in metrics and log, and no call of the service', async () => {
  const { gateway, resultOf } = await startWithPolicy({ writes: { stopped: 'Stop.' } });
  expect(await resultOf(upgrade)).toBe('OPERATION_STOPPED');
  expect(await gateway.logLine({ msg: 'request' })).toMatchObject({
    outcome: 'OPERATION_STOPPED',
    writes: ['Mutation.workflowAction OPERATION_STOPPED'],
  });
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    operation: 'upgradeToHQ',
    outcome: 'OPERATION_STOPPED',
    fault: 'policy',
  });
  expect(gateway.logs.filter(({ msg }) => msg === 'sent')).toEqual([]);
});
