import { execFileSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate as immediate } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { pino } from 'pino';
import type { AuditLine } from '../../src/audit/audit-line.ts';
import { createAuditOutput } from '../../src/audit/audit-output.ts';
import { startGateway } from '../../src/gateway.ts';
import { LogOutput } from '../../src/telemetry/log.ts';
import { auditLines, auditLinesIn } from '../../testkit/audit-file.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { readConfig } from '../../testkit/config.ts';
import { environmentFor } from '../../testkit/environment.ts';
import { eventually } from '../../testkit/eventually.ts';
import { speedUp } from '../../testkit/fast-timeouts.ts';
import { write } from '../../testkit/graphql-operation.ts';
import { createLogRecorder } from '../../testkit/log-recorder.ts';
import { metric } from '../../testkit/metric.ts';
import { success } from '../../testkit/service.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { createMetrics } from '../support/metrics.ts';
import { startStack } from '../support/stack.ts';

/** The gateway looks for the file every 20 ms, and not every second. */
beforeEach(() => speedUp('setInterval', 1000, 20));

const pathOf = async () => join(await temporaryFolder(), 'audit.log');

test('the file is appended to, and a renamed one is replaced by a new one', async () => {
  const path = await pathOf();
  writeFileSync(path, '{"audit":"dropped","time":"2026-10-01T00:00:00.000Z","lines":1}\n');
  const { gateway } = await startStack(success, { AUDIT: `file:${path}` });
  await gateway.graphql(write);
  renameSync(path, `${path}.1`);
  await eventually(async () => readFileSync(path));
  await gateway.graphql(write);
  expect(auditLinesIn(`${path}.1`).map(({ audit }) => audit)).toEqual([
    'dropped',
    'sent',
    'outcome',
  ]);
  expect(auditLinesIn(path).map(({ audit }) => audit)).toEqual(['sent', 'outcome']);
});

test('a line that an earlier process could not finish does not swallow the next one', async () => {
  const path = await pathOf();
  const cut = '{"audit":"sent","ti';
  writeFileSync(path, cut);
  const { gateway } = await startStack(success, { AUDIT: `file:${path}` });
  await gateway.graphql(write);
  const [first, ...others] = readFileSync(path, 'utf8').split('\n');
  expect(first).toBe(cut);
  expect(auditLines(others.join('\n')).map(({ audit }) => audit)).toEqual(['sent', 'outcome']);
});

test('a line is in the file at the end of the iteration', async () => {
  const path = await pathOf();
  const log = pino({ level: 'silent' });
  const metrics = createMetrics();
  const output = createAuditOutput(`file:${path}`, new LogOutput(), { log, metrics });
  closeAfterTest(() => output.close());
  const line: AuditLine = { audit: 'dropped', time: '2026-10-01T00:00:00.000Z', lines: 1 };
  output.write(line);
  expect(auditLinesIn(path)).toEqual([]); // Written in batches.
  await immediate();
  expect(auditLinesIn(path)).toEqual([line]);
});

test('a line of which only a part was accepted is complete in the next file', async () => {
  const path = await pathOf();
  const full = `${path}.fifo`;
  execFileSync('mkfifo', [full]);
  const pipe = openSync(full, constants.O_RDWR | constants.O_NONBLOCK);
  const file = openSync(path, 'a');
  const output = new LogOutput(pipe);
  const line = `${'x'.repeat(100_000)}\n`; // A pipe holds 64 KB.
  output.write('first\n');
  output.write(line);
  expect(output.writeNow()?.code).toBe('EAGAIN');
  output.switchTo(file);
  output.write('last\n');
  expect(output.writeNow()).toBeUndefined();
  expect(readFileSync(path, 'utf8') === `${line}last\n`).toBe(true);
  for (const fd of [pipe, file]) closeSync(fd);
});

test('lines that a full disk does not accept until the end are counted in the log', async () => {
  const path = await pathOf();
  symlinkSync('/dev/full', path);
  const lines = createLogRecorder();
  const log = pino({ base: null }, { write: lines.add });
  const metrics = createMetrics();
  const output = createAuditOutput(`file:${path}`, new LogOutput(), { log, metrics });
  const line: AuditLine = { audit: 'dropped', time: '2026-10-01T00:00:00.000Z', lines: 1 };
  output.write(line);
  output.write(line);
  await immediate();
  output.close();
  expect(lines.lines).toMatchObject([{ msg: 'audit lines dropped', dropped: 2 }]);
});

test('a file that cannot be opened ends the start, with the name of the variable', async () => {
  const path = join(await temporaryFolder(), 'missing', 'audit.log');
  const environment = await environmentFor(
    { url: 'http://127.0.0.1:1/' },
    { AUDIT: `file:${path}` },
  );
  const start = startGateway(readConfig(environment), pino({ level: 'silent' }));
  await expect(start).rejects.toThrow(`AUDIT: ${path} cannot be opened: ENOENT`);
});

test('a full disk stops no write: lines wait, then are dropped and counted, and the record says how many are missing', async () => {
  const path = await pathOf();
  symlinkSync('/dev/full', path);
  const { gateway } = await startStack(success, { AUDIT: `file:${path}` });
  const save = `mutation ($approvers: [ApproverInput!]!) { result: saveApprovers(approvers: $approvers) { __typename } }`;
  const approvers = Array.from({ length: 65 }, () => ({ approverId: '7'.repeat(1000) }));
  const ofAudit = { output: 'audit' };
  for (let writes = 0; writes < 10; writes++) {
    const { data } = await gateway.graphql(save, { approvers });
    expect(data.result.__typename).toBe('ApproversSaved');
  }
  expect(await metric(gateway, 'ledger_gateway_log_held_bytes', ofAudit)).toBeGreaterThan(900_000);
  const dropped = await metric(gateway, 'ledger_gateway_log_lines_dropped_total', ofAudit);
  expect(dropped).toBeGreaterThan(0);

  rmSync(path);
  await gateway.logLine({ msg: 'audit lines dropped', dropped });
  await gateway.graphql(write);
  const lines = auditLinesIn(path);
  expect(lines.filter(({ audit }) => audit === 'dropped').map(({ lines }) => lines)).toEqual([
    dropped,
  ]);
  expect(lines).toHaveLength(20 - dropped + 1 + 2);
});

test('while the folder of the file is missing, lines wait and count as held', async () => {
  const path = join(await temporaryFolder(), 'audit', 'audit.log');
  mkdirSync(dirname(path));
  const { gateway } = await startStack(success, { AUDIT: `file:${path}` });
  const held = () => metric(gateway, 'ledger_gateway_log_held_bytes', { output: 'audit' });
  rmSync(dirname(path), { recursive: true });
  await gateway.logLine({ msg: 'cannot open audit file' });
  await gateway.graphql(write);
  expect(await held()).toBeGreaterThan(0);

  mkdirSync(dirname(path));
  await eventually(async () =>
    expect(auditLinesIn(path).map(({ audit }) => audit)).toEqual(['sent', 'outcome']),
  );
  expect(await held()).toBe(0);
});
