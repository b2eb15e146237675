import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { auditReport } from '../../deploy/audit-report.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { eventually } from '../../testkit/eventually.ts';
import { write, writes } from '../../testkit/graphql-operation.ts';
import { testIssuer } from '../../testkit/issuer.ts';
import { textOfLog } from '../../testkit/log-recorder.ts';
import { json, reply, success } from '../../testkit/service.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { startStack } from '../support/stack.ts';

/** The globals of Node (native-environment.js). Jest gives tests a copy of the environment of the process. */
declare const native: typeof globalThis;

/** Sets the time zone of this process. */
function setZone(zone: string | undefined): void {
  const { env } = native.process;
  if (zone === undefined) delete env.TZ;
  else env.TZ = zone;
}

const key = (name: string) => ({ 'idempotency-key': name, 'idempotency-key-age': '0' });

/** What the command prints, as rows of columns by their names, and what it says on standard error. */
async function reportOf(args: string[], input = '') {
  return tableOf(
    await auditReport(args, Readable.from([input])).catch(({ message }: Error) => ({
      ...{ output: '', said: `${message}\n`, status: 1 },
    })),
  );
}

/** The same for a process of its own. */
function reportOfProcess(args: string[], input = '') {
  const options = { input, encoding: 'utf8' } as const;
  const { stdout, stderr, status } = spawnSync(
    'node',
    ['deploy/audit-report.ts', ...args],
    options,
  );
  return tableOf({ output: stdout, said: stderr, status });
}

function tableOf<Ended extends { output: string }>({ output, ...rest }: Ended) {
  const [head = '', ...rows] = output.trimEnd().split('\n');
  const names = head.split('\t');
  const byName = rows.map((row) =>
    Object.fromEntries(row.split('\t').map((cell, index) => [names[index], cell])),
  );
  return { rows: byName, ...rest };
}

/** Starts a gateway whose record is in a file, and a function that sends a write as a person. */
async function startAudited(variables: Record<string, string> = {}) {
  const path = join(await temporaryFolder(), 'audit.log');
  const stack = await startStack(success, { AUDIT: `file:${path}`, ...variables });
  const issuer = await testIssuer();
  const send = async (sub: string, query: string, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${await issuer.token({ sub })}`;
    return stack.gateway.graphql(query, {}, { authorization, ...headers });
  };
  return { ...stack, path, send };
}

const isoDay = (days: number) =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);

const unknownForm = /^Unknown option '--form'.*\n$/;

test('who triggered an action in a period, with which outcome', async () => {
  const { path, send, respondWith } = await startAudited({ AUDIT_SUBJECT: 'sub' });
  await send('ada', write, { 'x-request-id': 'request-1' });
  await send('ada', `mutation { ${writes.restartWorkflow2} }`);
  respondWith(reply(403));
  await send('grace', write, { 'x-request-id': 'request-2' });

  const asked = ['--action', 'UPGRADE_TO_HQ', '--from', isoDay(-1), '--to', isoDay(1), path];
  const { rows, said, status } = await reportOf(asked);
  const row = { time: expect.any(String), what: 'UPGRADE_TO_HQ' };
  expect(rows).toMatchObject([
    { ...row, who: 'ada', outcome: 'WorkflowActionCompleted', requestId: 'request-1' },
    { ...row, who: 'grace', outcome: 'error', code: 'FORBIDDEN', requestId: 'request-2' },
  ]);
  expect(said).toBe('2 writes, found in 6 lines of the record (and 0 other lines).\n');
  expect(status).toBe(0);
  expect((await reportOf(['--from', isoDay(1), path])).rows).toEqual([]);
  expect((await reportOf(['--to', isoDay(-1), path])).rows).toEqual([]);
});

test.each(['hash', 'sub', 'both'])(
  'what a person changed, where the record names people by AUDIT_SUBJECT=%s',
  async (subject) => {
    const { path, send } = await startAudited({ AUDIT_SUBJECT: subject });
    await send(
      'ada',
      'mutation { saveApprovers(approvers: [{ approverId: "17", workflowId: "3" }]) { __typename } }',
      key('intent-1'),
    );
    await send('grace', write);
    await send(
      'ada',
      'mutation { uploadWorkflowCsv(input: { fileName: "a\\t\\u001bb.csv", csv: "a" }) { __typename } }',
    );
    const { rows } = await reportOf(['--subject', 'ada', path]);
    expect(rows).toMatchObject([
      { what: 'saveApprovers', targets: 'approver_id=17 workflow_id=3', outcome: 'ApproversSaved' },
      {
        what: 'uploadWorkflowCsv',
        targets: expect.stringMatching(/^a {2}b\.csv \(1 bytes, SHA-256 ca978112/),
      },
    ]);
  },
);

test('the writes of an invoice, an approver or a workflow, by the number in the request or in the response', async () => {
  const { path, send, respondWith } = await startAudited({ AUDIT_SUBJECT: 'sub' });
  const save = (id: string) =>
    `mutation { saveApprovers(approvers: [{ approverId: "${id}" }]) { __typename } }`;
  await send('ada', save('17'));
  await send(
    'ada',
    'mutation { uploadWorkflowCsv(input: { fileName: "a.csv", csv: "a", invoiceId: "48214" }) { __typename } }',
  );
  respondWith(json({ invoice_id: 48214, status: 1 }));
  await send('grace', save('8'));
  respondWith(reply(500));
  await send('grace', save('48214'));
  const { rows, status } = await reportOf(['--id', '48214', path]);
  expect(rows).toMatchObject([
    { who: 'ada', targets: expect.stringMatching(/^invoice_id=48214 a\.csv/) },
    { who: 'grace', targets: 'approver_id=8 response invoice_id=48214', outcome: 'LedgerFailed' },
    { who: 'grace', targets: 'approver_id=48214', outcome: 'LedgerOutcomeUnknown' },
  ]);
  expect(status).toBe(0);
  const { rows: unknown } = await reportOf(['--unknown', '--id', '48214', path]);
  expect(unknown).toMatchObject([{ targets: 'approver_id=48214' }]);
  expect((await reportOf(['--id', '4821', path])).rows).toEqual([]);
});

test('an answer by a number is incomplete if the record leaves out identifiers', async () => {
  const { path, send } = await startAudited();
  const ids = Array.from({ length: 70 }, () => `{ approverId: "${'7'.repeat(1000)}" }`);
  await send('ada', `mutation { saveApprovers(approvers: [${ids}]) { __typename } }`);
  const { rows, said, status } = await reportOf(['--id', '48214', path]);
  expect(rows).toEqual([]);
  expect(said).toMatch(/\n1 WRITES HAVE MORE IDENTIFIERS THAN THE RECORD\.\n$/);
  expect(status).toBe(1);
});

test.each([
  ['--action', 'UPGRADE_TO_H', 'UPGRADE_TO_HQ'],
  ['--field', 'saveApprover', 'saveApprovers'],
])('%s %s is a fault that names %s, unless the record has it', async (option, name, meant) => {
  const { path, send } = await startAudited();
  await send('ada', write);
  expect(await reportOf([option, name, path])).toMatchObject({
    said: `${option} ${name} is unknown. Did you mean ${meant}?\n`,
    status: 1,
  });
  // Another version of the gateway may have another name.
  const renamed = readFileSync(path, 'utf8')
    .replaceAll('"UPGRADE_TO_HQ"', `"${name}"`)
    .replaceAll('"workflowAction"', `"${name}"`);
  expect(await reportOf([option, name], renamed)).toMatchObject({ rows: [{}], status: 0 });
});

test('which writes are unknown: without a readable answer, or without a line about their end, unless a repeat has learned it', async () => {
  const { path, send, respondWith } = await startAudited();
  await send('ada', write, { ...key('done'), 'x-request-id': 'done' });
  respondWith(reply(500));
  await send('ada', write, { ...key('lost'), 'x-request-id': 'lost' });
  await send('ada', write, { ...key('lost'), 'x-request-id': 'repeat' });
  await send('ada', write, { 'x-request-id': 'without-key' });
  respondWith(json({ status: 77 }));
  await send('ada', write, { ...key('undocumented'), 'x-request-id': 'undocumented' });
  // The gateway that sent it has ended.
  const sent = {
    ...{ audit: 'sent', time: '2026-10-01T08:00:00.000Z', iss: 'issuer', caller: 'ada' },
    ...{ field: 'workflowAction', operation: 'upgradeToHQ', action: 'UPGRADE_TO_HQ' },
    responseName: 'a',
  };
  const learned = { outcome: 'WorkflowActionCompleted', replay: true, ms: 1 };
  const bug = { outcome: null, code: 'INTERNAL_SERVER_ERROR', replay: false, ms: 1 };
  const lines = [
    { ...sent, writeId: '1', requestId: 'ended' },
    { ...sent, writeId: '2', requestId: 'ended, then learned', claim: 'c' },
    { ...sent, audit: 'outcome', writeId: '3', requestId: 'learned', claim: 'c', ...learned },
    { ...sent, writeId: '4', requestId: 'bug' },
    { ...sent, audit: 'outcome', writeId: '4', requestId: 'bug', ...bug },
    { ...sent, audit: 'outcome', writeId: '5', requestId: 'bug before sending', ...bug },
  ];
  appendFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const { rows, status } = await reportOf(['--unknown', path]);
  expect(rows.map(({ requestId, outcome, code }) => [requestId, outcome, code])).toEqual([
    ['ended', 'none: in flight, or the process ended', ''],
    ['bug', 'error', 'INTERNAL_SERVER_ERROR'],
    ['lost', 'LedgerOutcomeUnknown', 'UPSTREAM_FAILED'],
    ['without-key', 'LedgerOutcomeUnknown', 'UPSTREAM_FAILED'],
    ['undocumented', 'LedgerUnrecognizedStatus', ''],
  ]);
  expect(status).toBe(0);
});

test('the record may be on standard input between lines of the log; what cannot be read or was not written is counted', async () => {
  const { gateway, path, send } = await startAudited();
  await send('ada', write);
  const log = gateway.logs.map((line) => `${JSON.stringify(line)}\n`).join('');
  const record = (await reportOf([path])).said;
  expect(record).toContain('1 writes, found in 2 lines');
  const other = join(await temporaryFolder(), 'other.log');
  const dropped = '{"audit":"dropped","time":"2026-10-01T00:00:00.000Z","lines":7}';
  writeFileSync(other, `${dropped}\n{"audit":"sent","ti\n{"audit":"sent"}\n\n`);
  const { said, status } = await reportOf([other]);
  expect(said).toContain('2 LINES COULD NOT BE READ.');
  expect(said).toContain('7 LINES WERE NOT WRITTEN');
  expect(status).toBe(1);
  const onlyLog = await reportOf([], log.trimEnd().replace(/^/gm, '[pod/gateway-1] '));
  expect(onlyLog.said).toContain('NO LINE OF AN AUDIT RECORD WAS FOUND.');
  expect(onlyLog.said).not.toContain('COULD NOT BE READ');
  expect(onlyLog.status).toBe(1);
});

test.each([
  ['log lines dropped', '7 LINES ARE MISSING on standard output'],
  ['audit lines dropped', '7 LINES OF A FILE ARE MISSING'],
])('an answer is incomplete if the log has the line "%s"', async (message, fault) => {
  const { path, send } = await startAudited();
  await send('ada', write);
  const log = textOfLog((logger) => logger.warn({ dropped: 7 }, message));
  const { rows, said, status } = await reportOf([], `${readFileSync(path, 'utf8')}${log}`);
  expect(rows).toHaveLength(1);
  expect(said).toContain(fault);
  expect(said).toContain('2 lines of the record (and 1 other lines)');
  expect(status).toBe(1);
});

test('compressed files of a rotation are read like others', async () => {
  const { path, send } = await startAudited();
  await send('ada', write);
  writeFileSync(`${path}.2.gz`, gzipSync(readFileSync(path)));
  renameSync(path, `${path}.1`);
  await eventually(async () => expect(existsSync(path)).toBe(true));
  await send('ada', write);
  const { rows, said, status } = await reportOf([path, `${path}.1`, `${path}.2.gz`]);
  expect(said).toBe('2 writes, found in 6 lines of the record (and 0 other lines).\n');
  expect([rows.length, status]).toEqual([2, 0]);
  writeFileSync(`${path}.3.gz`, gzipSync(readFileSync(path)).subarray(0, -10));
  const cut = await reportOf([`${path}.3.gz`]);
  expect([cut.said, cut.status]).toEqual([
    `${path}.3.gz cannot be read: unexpected end of file\n`,
    1,
  ]);
});

test('the command writes the rows to standard output, and all else to standard error', () => {
  const dropped = '{"audit":"dropped","time":"2026-10-01T00:00:00.000Z","lines":7}';
  const { rows, said, status } = reportOfProcess([], dropped);
  expect([rows.length, status]).toEqual([0, 1]);
  expect(said).toContain('7 LINES WERE NOT WRITTEN');
  const misspelled = reportOfProcess(['--form', '2026-10-01']);
  expect([misspelled.said, misspelled.status]).toEqual([expect.stringMatching(unknownForm), 1]);
});

test.each([
  [['no-such-file'], /^no-such-file cannot be read: ENOENT.*\n$/],
  [['--form', '2026-10-01'], unknownForm],
  [['--from', 'October'], /^October is no date or time of ISO 8601\.\n$/],
])('%j is an error in one line', async (args, message) => {
  const { said, status } = await reportOf(args);
  expect(said).toMatch(message);
  expect(status).toBe(1);
});

test.each(['October', '10', '2026-02-30', '2026-10-01T25:00'])('%s is no time', async (time) => {
  const { said, status } = await reportOf(['--from', time]);
  expect(said).toContain(`${time} is no date or time of ISO 8601.`);
  expect(status).toBe(1);
});

test('a time without a zone is in UTC, wherever the command runs', async () => {
  const sent = {
    ...{ audit: 'sent', time: '2026-10-01T08:00:00.000Z', iss: 'issuer', caller: 'ada' },
    ...{ field: 'workflowAction', operation: 'upgradeToHQ', action: 'UPGRADE_TO_HQ' },
    ...{ responseName: 'a', writeId: '1', requestId: 'request-1' },
  };
  const rowsBetween = async (from: string, to: string) =>
    (await reportOf(['--from', from, '--to', to], JSON.stringify(sent))).rows.length;
  closeAfterTest(() => setZone(undefined));
  for (const zone of ['America/New_York', 'Asia/Tokyo', 'UTC']) {
    setZone(zone);
    expect(await rowsBetween('2026-10-01T08:00', '2026-10-01T08:00:01')).toBe(1);
    expect(await rowsBetween('2026-10-01', '2026-10-02')).toBe(1);
    expect(await rowsBetween('2026-10-01T10:00+02:00', '2026-10-01T08:00:00.001Z')).toBe(1);
    expect(await rowsBetween('2026-10-01T08:00:01', '2026-10-02')).toBe(0);
  }
});
