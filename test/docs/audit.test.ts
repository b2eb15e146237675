import { spawnSync } from 'node:child_process';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { write } from '../../testkit/graphql-operation.ts';
import { testIssuer } from '../../testkit/issuer.ts';
import { textOfLog } from '../../testkit/log-recorder.ts';
import { json, reply, success } from '../../testkit/service.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { startStack } from '../support/stack.ts';

/* Runs the commands of docs/how-to/audit.md, which answer questions from the record with jq. */
const page = readFileSync(new URL('../../docs/how-to/audit.md', import.meta.url), 'utf8');
const commands = [...page.matchAll(/^```sh\n(.*?)^```/gms)].map(([, command = '']) => command);
const [
  joining = '',
  missing = '',
  names = '',
  action = '',
  person = '',
  number = '',
  unknown = '',
] = commands;
const isInstalled = spawnSync('jq', ['--version']).error === undefined;
const testWithJq = isInstalled ? test : test.skip;

type Line = Record<string, unknown>;
const textOf = (lines: Line[]) => lines.map((line) => `${JSON.stringify(line)}\n`).join('');
const linesOf = (text: string): Line[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** Runs a command of the page in a folder, after edits, and returns what it prints. */
function run(cwd: string, command: string, edits: Record<string, string> = {}): string {
  const edited = Object.entries(edits).reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replaceAll(from, to);
  }, command);
  const { stdout, stderr } = spawnSync('bash', ['-c', edited], { cwd, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout;
}

/** Joins the lines of some files, and returns a function that asks about the writes. */
async function ask(files: Record<string, string | Buffer>) {
  const cwd = await temporaryFolder();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(cwd, name), text);
  expect(run(cwd, joining)).toBe('');
  return (command: string, edits?: Record<string, string>) => linesOf(run(cwd, command, edits));
}

/** Starts a gateway with a record, and a function that sends a write as a person. */
async function startAudited(subject = 'both') {
  const path = join(await temporaryFolder(), 'audit.log');
  const variables = { AUDIT: `file:${path}`, AUDIT_SUBJECT: subject };
  const stack = await startStack(success, variables);
  const issuer = await testIssuer();
  const send = async (sub: string, query: string, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${await issuer.token({ sub })}`;
    return stack.gateway.graphql(query, {}, { authorization, ...headers });
  };
  const person = { 'https://id.example.com/': issuer.issuer };
  return { ...stack, record: () => readFileSync(path, 'utf8'), person, send };
}

const key = (name: string) => ({ 'idempotency-key': name, 'x-request-id': name });
const save = (id: string) =>
  `mutation { saveApprovers(approvers: [{ approverId: "${id}" }]) { __typename } }`;
const requestIds = (writes: Line[]) => writes.map(({ requestId }) => requestId);

test('the page has seven commands', () => {
  expect(commands).toHaveLength(7);
});

testWithJq(
  'who triggered an action in a period, with which outcome, in files of which some are compressed',
  async () => {
    const { record, send, respondWith } = await startAudited();
    await send('ada', write, { 'x-request-id': '1' });
    await send('ada', save('7'));
    respondWith(reply(403));
    await send('grace', write, { 'x-request-id': '2' });
    const lines = linesOf(record());
    const asked = await ask({
      // The outcome of a write may be in another file than its start.
      'audit.log': textOf(lines.slice(1)).replace(/^/gm, '[pod/gateway-1] '),
      'audit.log.1': `no JSON {\n{"level":30,"msg":"\\"audit\\":"}\n\n`,
      'audit.log.2.gz': gzipSync(textOf(lines.slice(0, 1))),
    });
    const time = expect.stringMatching(/^\d{4}-.*Z$/);
    expect(asked(action, { '2026-11-01': '9999-12-31' })).toEqual([
      [time, 'ada', null, 'WorkflowActionCompleted', null, '1'],
      [time, 'grace', null, null, 'FORBIDDEN', '2'],
    ]);
    expect(asked(action)).toEqual([]);
  },
);

testWithJq.each(['hash', 'sub', 'both'])(
  'what a person changed, where the record names people by AUDIT_SUBJECT=%s',
  async (subject) => {
    const { record, person: issuer, send } = await startAudited(subject);
    await send('ada', save('17'), key('1'));
    await send('grace', write, key('2'));
    const asked = await ask({ 'audit.log': record() });
    expect(requestIds(asked(person, issuer))).toEqual(['1']);
  },
);

testWithJq('the writes with a number in the request or in the response', async () => {
  const { record, send, respondWith } = await startAudited();
  await send('ada', save('17'), key('other'));
  await send('ada', save('48214'), key('request'));
  const many = Array.from({ length: 70 }, () => `{ approverId: "${'7'.repeat(1000)}" }`);
  await send('ada', `mutation { saveApprovers(approvers: [${many}]) { __typename } }`, key('many'));
  respondWith(json({ invoice_id: 48214, status: 1 }));
  await send('grace', write, key('response'));
  respondWith(json({ invoice_id: 482140, status: 1 }));
  await send('grace', write, key('longer'));
  const asked = await ask({ 'audit.log': record() });
  expect(requestIds(asked(number))).toEqual(['request', 'many', 'response']);
});

testWithJq(
  'which writes are unknown: without a readable answer, or without a line about their end, unless a repeat has learned it',
  async () => {
    const { record, send, respondWith } = await startAudited();
    await send('ada', write, key('done'));
    respondWith(reply(500));
    await send('ada', write, key('lost'));
    await send('ada', write, { ...key('lost'), 'x-request-id': 'repeat' });
    await send('ada', write, { 'x-request-id': 'without-key' });
    respondWith(json({ status: 77 }));
    await send('ada', write, key('undocumented'));
    respondWith(reply(403));
    await send('ada', write, key('refused'));
    const at = (second: number) => `2026-10-01T08:00:0${second}.000Z`;
    const sent = { audit: 'sent', responseName: 'a', action: 'RESTART', time: at(0) };
    const outcome = { ...sent, audit: 'outcome', outcome: null };
    const open = { ...outcome, outcome: 'LedgerOutcomeUnknown', replay: true, code: 'ORPHANED' };
    const bug = { ...outcome, code: 'INTERNAL_SERVER_ERROR' };
    const lines = [
      { ...sent, writeId: '1', requestId: 'ended' },
      { ...sent, writeId: '2', requestId: 'ended, then learned', claim: 'c' },
      { ...outcome, writeId: '3', claim: 'c', outcome: 'WorkflowActionCompleted', replay: true },
      { ...sent, writeId: '4', requestId: 'bug' },
      { ...bug, writeId: '4', requestId: 'bug' },
      { ...bug, writeId: '5', requestId: 'bug before sending' },
      { ...open, writeId: '6', requestId: 'repeat alone', claim: 'd' },
      { ...open, writeId: '7', requestId: 'repeat alone, again', claim: 'd', time: at(1) },
    ];
    const asked = await ask({ 'audit.log': record(), 'audit.log.1': textOf(lines) });
    expect(requestIds(asked(unknown)).toSorted()).toEqual([
      ...['bug', 'ended', 'lost', 'repeat alone', 'undocumented', 'without-key'],
    ]);
  },
);

testWithJq(
  'a record is incomplete if a line of it, or of the log, says so, or if a line is cut',
  async () => {
    const cwd = await temporaryFolder();
    const { record, send } = await startAudited();
    await send('ada', write);
    writeFileSync(join(cwd, 'audit.log'), record());
    const complete = textOfLog((logger) => logger.warn({ dropped: 7 }, 'another message'));
    writeFileSync(join(cwd, 'gateway.log'), complete);
    expect(run(cwd, missing)).toBe('');
    const dropped = '{"audit":"dropped","time":"2026-10-01T00:00:00.000Z","lines":7}\n';
    writeFileSync(join(cwd, 'audit.log.1'), dropped);
    const messages = ['log lines dropped', 'audit lines dropped'];
    const log = textOfLog((logger) => {
      for (const message of messages) logger.warn({ dropped: 7 }, message);
    });
    writeFileSync(join(cwd, 'gateway.log'), log);
    expect(run(cwd, missing)).toBe(`${dropped}${log}`);
    expect(run(cwd, joining)).toBe('');
    writeFileSync(join(cwd, 'audit.log.2'), record().slice(0, -20));
    const { stderr, status } = spawnSync('bash', ['-c', joining], { cwd, encoding: 'utf8' });
    expect(stderr).toMatch(/^jq: error/);
    expect(status).not.toBe(0);
  },
);

const folder = fileURLToPath(new URL('../fixtures/audit-lines', import.meta.url));
const fixtures = globSync('*.jsonl', { cwd: folder });

testWithJq.each(fixtures)('the lines of each release are joined: %s', async (name) => {
  const text = readFileSync(join(folder, name), 'utf8');
  const lines = linesOf(text);
  const asked = await ask({ 'audit.log': text });
  const writes = asked('cat writes.jsonl');
  expect(writes).toHaveLength(new Set(lines.map(({ writeId }) => writeId)).size);
  const sent = lines.filter(({ audit }) => audit === 'sent');
  expect(writes.filter((one) => one.sent)).toHaveLength(sent.length);
  const times = writes.map(({ time }) => String(time));
  expect(times).toEqual(times.toSorted());
});

testWithJq('how often each action and field is in the record', async () => {
  const [name = ''] = fixtures;
  const cwd = await temporaryFolder();
  writeFileSync(join(cwd, 'audit.log'), readFileSync(join(folder, name)));
  run(cwd, joining);
  expect(run(cwd, names)).toMatch(/^ *\d+ RESTART$/m);
});
