import { createHash, hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { agedStore } from '../../testkit/aged-store.ts';
import { auditLines, auditLinesIn } from '../../testkit/audit-file.ts';
import { environmentFor } from '../../testkit/environment.ts';
import { eventually } from '../../testkit/eventually.ts';
import { startTestGateway } from '../../testkit/gateway.ts';
import { startGatewayProcess } from '../../testkit/gateway-process.ts';
import { write, writes } from '../../testkit/graphql-operation.ts';
import { testIssuer } from '../../testkit/issuer.ts';
import { freePort } from '../../testkit/port.ts';
import { startProcess } from '../../testkit/process.ts';
import { json, reply, startService, success } from '../../testkit/service.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { startHeldStack, startStack } from '../support/stack.ts';

const key = { 'idempotency-key': 'intent-1', 'idempotency-key-age': '0' };
const save = `mutation ($approvers: [ApproverInput!]!) { saveApprovers(approvers: $approvers) { __typename } }`;
const upload = `mutation ($input: WorkflowCsvInput!) { uploadWorkflowCsv(input: $input) { __typename } }`;

/** The variables for a record in a new file, and a function that reads its lines. */
async function auditFile(variables: Record<string, string> = {}) {
  const path = join(await temporaryFolder(), 'audit.log');
  const lines = () => auditLinesIn(path);
  return { path, lines, settings: { AUDIT: `file:${path}`, ...variables } };
}

/** Starts a gateway with a record in a file, in front of a service with this reply. */
async function startAudited(answer = success, variables: Record<string, string> = {}) {
  const file = await auditFile(variables);
  return { ...file, ...(await startStack(answer, file.settings)) };
}

/** The kinds of the lines, with what became of the write. */
const summaryOf = (lines: ReturnType<typeof auditLines>) =>
  lines.map(({ audit, outcome, code, replay }) => {
    return audit === 'sent' ? audit : [outcome, code, replay && 'replay'].filter(Boolean).join(' ');
  });

test.each(Object.entries(writes))(
  '%s has a line before it is sent, and one with its outcome',
  async (operation, field) => {
    const { gateway, lines } = await startAudited(success, { AUDIT_SUBJECT: 'both' });
    await gateway.graphql(`mutation { ${field} }`, {}, { 'x-request-id': 'request-1' });

    const name = field.slice(0, field.indexOf('('));
    const action = /action: (\w+)/.exec(field)?.[1];
    const issuer = await testIssuer();
    const common = {
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      writeId: expect.any(String),
      requestId: 'request-1',
      iss: issuer.issuer,
      sub: expect.any(String),
      caller: expect.any(String),
      field: name,
      operation,
      responseName: name,
      ...(action && { action }),
      ...(operation === 'updateWorkflowCSV' && { files: [expect.objectContaining({ bytes: 1 })] }),
    };
    const member = {
      saveApprovers: 'ApproversSaved',
      uploadWorkflowCsv: 'WorkflowCsvUploaded',
    }[name];
    const outcome = {
      outcome: member ?? 'WorkflowActionCompleted',
      replay: false,
      ms: expect.any(Number),
    };
    // A write may name identifiers, which a test below has.
    expect(lines().map(({ ids: _, ...line }) => line)).toEqual([
      { audit: 'sent', ...common },
      { audit: 'outcome', ...common, ...outcome },
    ]);
    const [first, second] = lines();
    expect(first?.writeId).toBe(second?.writeId);
  },
);

test('the file has the line before the service has the request, and no outcome yet', async () => {
  const { lines, settings } = await auditFile();
  const seen: string[][] = [];
  const service = await startService((response, received) => {
    seen.push(summaryOf(lines()));
    return success(response, received);
  });
  await (await startTestGateway(service, settings)).graphql(write);
  expect(seen).toEqual([['sent']]);
  expect(summaryOf(lines())).toEqual(['sent', 'WorkflowActionCompleted']);
});

test('identifiers and files are named, and nothing else of a request is in the record or in the log', async () => {
  const { gateway, path, lines } = await startAudited(success, { AUDIT_SUBJECT: 'both' });
  const approver = {
    approverId: '9007199254740993',
    workflowId: '7',
    claimLimit: 8123.25,
    description: 'the description',
    email: 'ada@example.com',
    emailUpload: 'upload@example.com',
    myBankAccount: 'NL91ABNA0417164300',
    myEmail: 'private@example.com',
    name: 'Ada Lovelace',
    workflowName: 'the workflow',
  };
  const approvers = [approver, { approverId: '8', name: 'Grace Hopper' }, { workflowId: null }];
  await gateway.graphql(save, { approvers });
  const csv = 'account;amount\nNL02RABO0123456789;1299.95\n';
  const input = { fileName: 'march.csv', csv, invoiceId: '48213', message: 'the message' };
  await gateway.graphql(upload, { input }, key);

  const file = {
    name: 'march.csv',
    sha256: hash('sha256', csv),
    bytes: Buffer.byteLength(csv),
  };
  const [saving, saved, uploading, uploaded] = lines();
  for (const line of [saving, saved]) {
    expect(line?.ids).toEqual({ approver_id: ['9007199254740993', '8'], workflow_id: ['7'] });
    expect(line).not.toHaveProperty('files');
  }
  for (const line of [uploading, uploaded]) {
    expect(line).toMatchObject({ ids: { invoice_id: ['48213'] }, files: [file] });
  }
  const { approverId: _, workflowId: __, ...sensitive } = approver;
  const hidden = [
    ...Object.values(sensitive).map(String),
    ...['Grace Hopper', 'the message', 'intent-1', 'account;amount', 'NL02RABO0123456789'],
    Buffer.from(csv).toString('base64').slice(0, 20),
    gateway.token,
  ];
  const text = readFileSync(path, 'utf8') + gateway.logText();
  expect(hidden.filter((value) => text.includes(value))).toEqual([]);
});

test('the outcome names the invoice of the response', async () => {
  const { gateway, lines, respondWith } = await startAudited(
    json({ invoice_id: 48214, message: 'the message', status: 1 }),
  );
  await gateway.graphql(write, {}, key);
  await gateway.graphql(write, {}, key);
  respondWith(json({ invoice_id: 'ada@example.com', status: 1 }));
  await gateway.graphql(write);
  const outcomes = lines().filter(({ audit }) => audit === 'outcome');
  expect(outcomes).toMatchObject([
    { outcome: 'LedgerFailed', invoiceId: '48214', replay: false },
    { outcome: 'LedgerFailed', invoiceId: '48214', replay: true },
    { outcome: 'LedgerFailed' },
  ]);
  // What is no number may be any text.
  expect(outcomes[2]).not.toHaveProperty('invoiceId');
});

test('of thousands of identifiers, so many are named that the line is written, and the others are counted', async () => {
  const { gateway, lines } = await startAudited();
  const id = '7'.repeat(1000);
  const approvers = Array.from({ length: 100 }, () => ({ approverId: id }));
  await gateway.graphql(save, { approvers });
  expect(lines()).toHaveLength(2);
  expect(lines()[0]).toMatchObject({ omittedIds: 35 });
  expect(Object(lines()[0]?.ids).approver_id).toHaveLength(65);
});

test('a long file is hashed as the bytes that the service gets', async () => {
  const { gateway, lines } = await startAudited();
  const content = Buffer.from(Array.from({ length: 100_001 }, (_, n) => n % 251));
  const input = { fileName: 'a.csv', contentBase64: content.toString('base64') };
  await gateway.graphql(upload, { input });
  const sha256 = createHash('sha256').update(content).digest('hex');
  expect(lines()[0]?.files).toEqual([{ name: 'a.csv', sha256, bytes: 100_001 }]);
});

test('a replay has one line, which says so; the hashes of caller and key are those of the log', async () => {
  const { gateway, lines } = await startAudited();
  await gateway.graphql(write, {}, key);
  await gateway.graphql(write, {}, key);
  expect(summaryOf(lines())).toEqual([
    'sent',
    'WorkflowActionCompleted',
    'WorkflowActionCompleted replay',
  ]);
  const { caller, claim } = await gateway.logLine({ msg: 'sent' });
  expect(claim).toMatch(/^[\w-]{43}$/);
  for (const line of lines()) expect(line).toMatchObject({ caller, claim });
});

test('a repeat that waits for the first request in flight is a replay', async () => {
  const { lines, settings } = await auditFile();
  const { service, gateway } = await startHeldStack(settings);
  const first = gateway.graphql(write, {}, key);
  const held = await service.arrived(1);
  const repeat = gateway.graphql(write, {}, key);
  await gateway.graphql('{ __typename }'); // The repeat has been executed as far as it goes.
  held.respond();
  await Promise.all([first, repeat]);
  expect(summaryOf(lines()).sort()).toEqual([
    'WorkflowActionCompleted',
    'WorkflowActionCompleted replay',
    'sent',
  ]);
});

test('each field of a mutation has lines of its own: a replay beside a write that is sent', async () => {
  const { gateway, lines } = await startAudited();
  const field = writes.upgradeToHQ;
  await gateway.graphql(`mutation { a: ${field} }`, {}, key);
  await gateway.graphql(`mutation { a: ${field} b: ${field} }`, {}, key);
  expect(lines().map(({ responseName, replay }) => [responseName, replay])).toEqual([
    ['a', undefined],
    ['a', false],
    ['a', true],
    ['b', undefined],
    ['b', false],
  ]);
});

test('the response name is the one for which the key counts, also where a router drops aliases', async () => {
  const { gateway, lines } = await startAudited();
  for (const name of ['first', 'second']) {
    await gateway.graphql(write, {}, { ...key, 'idempotency-response-name': name });
  }
  expect(lines().map(({ responseName }) => responseName)).toEqual([
    ...['first', 'first'],
    ...['second', 'second'],
  ]);
});

test('a text of a client cannot end a line for a reader that knows other line ends than "\\n"', async () => {
  const { gateway, path, lines } = await startAudited();
  const fileName = 'a\u2028b\u2029c\u0085d\r\ne.csv';
  await gateway.graphql(upload, { input: { fileName, csv: 'a' } });
  expect(lines()).toMatchObject([{ files: [{ name: fileName }] }, { files: [{ name: fileName }] }]);
  expect(readFileSync(path, 'utf8')).toMatch(/^(?:[ -~]+\n){2}$/);
});

test('a line can be read by a parser that rejects half of a character', async () => {
  const { gateway, lines } = await startAudited(success, { AUDIT_SUBJECT: 'sub' });
  const { token } = await testIssuer();
  const authorization = `Bearer ${await token({ sub: 'a\ud83d' })}`;
  await gateway.graphql(write, {}, { authorization });
  expect(lines()).toMatchObject(Array(2).fill({ sub: 'a\ufffd' }));
});

test('what is rejected before it is sent has one line with its code', async () => {
  const { gateway, lines, service } = await startAudited(success, {
    IDEMPOTENCY_STORE: await agedStore(),
  });
  await gateway.graphql(write, {}, key);
  const other = `mutation { result: ${writes.restartWorkflow2} }`;
  await gateway.graphql(other, {}, key);
  await gateway.graphql(
    'mutation { settleWrites(idempotencyKey: "intent-1", ageMs: 0) { isComplete } }',
  );
  await gateway.graphql(`mutation { another: ${writes.restartWorkflow2} }`, {}, key);
  await gateway.graphql(other, {}, { 'idempotency-key': 'undefined' });
  expect(summaryOf(lines()).slice(2)).toEqual([
    'IDEMPOTENCY_KEY_REUSED',
    'IDEMPOTENCY_KEY_SETTLED',
    'BAD_USER_INPUT',
  ]);
  expect(lines()[3]).toMatchObject({ action: 'RESTART', outcome: null, claim: expect.any(String) });
  expect(service.received).toHaveLength(1);
});

test('a refusal of the service is an error, and an answer that cannot be read an unknown outcome', async () => {
  const { gateway, lines, respondWith } = await startAudited(reply(403));
  await gateway.graphql(write);
  respondWith(reply(500));
  await gateway.graphql(write);
  respondWith(json({ status: 1 }));
  await gateway.graphql(write);
  expect(summaryOf(lines())).toEqual([
    ...['sent', 'FORBIDDEN'],
    ...['sent', 'LedgerOutcomeUnknown UPSTREAM_FAILED'],
    ...['sent', 'LedgerFailed'],
  ]);
});

test('the outcome is recorded although the client has disconnected', async () => {
  const { lines, settings } = await auditFile();
  const { service, gateway } = await startHeldStack(settings);
  const client = new AbortController();
  const request = gateway.post({ query: write }, {}, client.signal);
  const held = await service.arrived(1);
  client.abort();
  await expect(request).rejects.toThrow();
  await gateway.logLine({ msg: 'request', status: 499 });
  expect(summaryOf(lines())).toEqual(['sent']);
  held.respond();
  await eventually(async () =>
    expect(summaryOf(lines())).toEqual(['sent', 'WorkflowActionCompleted']),
  );
});

test('AUDIT_SUBJECT decides how the person is named, and a token without sub has its hash', async () => {
  const issuer = await testIssuer();
  const caller = hash('sha256', JSON.stringify([issuer.issuer, 'ada']), 'base64');
  const subjects = async (AUDIT_SUBJECT: string) => {
    const { gateway, lines } = await startAudited(success, { AUDIT_SUBJECT });
    const authorization = `Bearer ${await issuer.token({ sub: 'ada' })}`;
    await gateway.graphql(write, {}, { authorization });
    const [line] = lines();
    return [line?.sub, line?.caller];
  };
  expect(await subjects('hash')).toEqual([undefined, caller]);
  expect(await subjects('sub')).toEqual(['ada', undefined]);
  expect(await subjects('both')).toEqual(['ada', caller]);
});

test('trace_id is that of the traceparent of a router', async () => {
  const { gateway, lines } = await startAudited();
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736';
  await gateway.graphql(write, {}, { traceparent: `00-${trace}-00f067aa0ba902b7-01` });
  expect(lines().map(({ trace_id }) => trace_id)).toEqual([trace, trace]);
});

test('on standard output, the record is written with LOG_LEVEL=silent, and nothing else', async () => {
  const service = await startService(success);
  const port = String(await freePort());
  const variables = { PORT: port, LOG_LEVEL: 'silent', AUDIT: 'stdout' };
  const child = startProcess(['src/main.ts'], { env: await environmentFor(service, variables) });
  const url = `http://127.0.0.1:${port}`;
  await eventually(() => fetch(`${url}/livez`));
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await (await testIssuer()).token()}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ query: write }),
  });
  expect(await response.json()).toMatchObject({ data: { result: {} } });
  await child.line(/"audit":"outcome"/);
  expect(summaryOf(auditLines(child.lines.join('\n')))).toEqual([
    'sent',
    'WorkflowActionCompleted',
  ]);
});

test('without AUDIT, there is no record', async () => {
  const { gateway } = await startStack(success);
  await gateway.graphql(write);
  expect(gateway.logs.filter((line) => 'audit' in line)).toEqual([]);
  expect(gateway.logs.some(({ msg }) => msg === 'sent')).toBe(true);
});

test('a shutdown that does not wait for a write records that its outcome is unknown; after kill -9, there is none', async () => {
  const service = await startService();
  const { lines, settings } = await auditFile({ LOG_LEVEL: 'info' });
  const start = async (requests: number) => {
    const gateway = await startGatewayProcess(service, settings);
    void gateway
      .post({ query: write }, { authorization: `Bearer ${gateway.token}` })
      .catch(() => {});
    await service.arrived(requests);
    return gateway;
  };
  const first = await start(1);
  first.signal('SIGTERM');
  await first.logLine({ msg: 'draining' });
  first.signal('SIGTERM');
  await first.exited;
  expect(summaryOf(lines())).toEqual(['sent', 'LedgerOutcomeUnknown ORPHANED']);

  const second = await start(2);
  second.signal('SIGKILL');
  await second.exited;
  expect(summaryOf(lines()).slice(2)).toEqual(['sent']);
});
