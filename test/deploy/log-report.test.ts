import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { read, write } from '../../testkit/graphql-operation.ts';
import { json, reply } from '../../testkit/service.ts';
import { startStack } from '../support/stack.ts';

/** What the command prints for these lines: the faults, the callers and the unknown writes. */
function reportOf(lines: object[], ...args: string[]) {
  return reportOfText(lines.map((line) => `${JSON.stringify(line)}\n`).join(''), ...args);
}

/** The same for the text of a log, as a gateway writes it. */
function reportOfText(log: string, ...args: string[]) {
  const input = log.replace(/^(?=.)/gm, '[pod/gateway-1] ');
  const text = spawnSync('node', ['deploy/log-report.ts', ...args], {
    input: `no JSON\n\n${input}`,
    encoding: 'utf8',
  }).stdout;
  const [faults = '', callers = '', unknown = '', last = ''] = text.split('\n\n');
  const rows = (section: string) => section.trim().split('\n').slice(1);
  return {
    writes: unknown.split('\n')[0],
    faults: rows(faults).map((row) => row.split('\t')),
    callers: rows(callers).map((row) => row.split('\t')),
    unknown: rows(unknown).map((row): unknown => JSON.parse(row)),
    end: last.trim().split('\n'),
  };
}

const hash = expect.stringMatching(/^[\w+/=-]{43,44}$/);

test('the log of a gateway is reported: faults of the service, callers, and unknown writes with code, caller and key', async () => {
  const { gateway, respondWith } = await startStack(reply(500));
  const ids = ['1', '2', '3'].map((id) => ({ 'x-request-id': id }));
  await gateway.graphql(write, {}, { ...ids[0], 'idempotency-key': 'intent-1' });
  await gateway.graphql(write, {}, { ...ids[1], 'idempotency-key': 'intent-1' });
  await gateway.graphql(write, {}, { ...ids[2] });
  respondWith(json({ status: 0, service_status: { status: 0 } }));
  await gateway.graphql(read);
  await gateway.graphql(write);
  await gateway.logLine({ msg: 'request', requestId: '3' });

  const { faults, callers, unknown } = reportOfText(gateway.logText());
  expect(faults).toEqual([
    ['2', expect.any(String), 'call upgradeToHQ UPSTREAM_FAILED 500 status 500'],
    ['1', expect.any(String), 'write without idempotency key'],
  ]);
  expect(callers).toEqual([['5', '0', expect.any(String), '0', hash, expect.any(String)]]);
  const row = { time: expect.any(String), operation: 'upgradeToHQ', code: 'UPSTREAM_FAILED' };
  expect(unknown).toEqual([
    { ...row, caller: hash, claim: hash, requestId: '1' },
    { ...row, caller: hash, requestId: '3' },
  ]);
});

test('a write to which the service responds with an undocumented status is an unknown write, once', async () => {
  const { gateway } = await startStack(json({ status: 77 }));
  for (const id of ['first', 'replay']) {
    await gateway.graphql(write, {}, { 'x-request-id': id, 'idempotency-key': 'intent-1' });
  }
  await gateway.logLine({ msg: 'request', requestId: 'replay' });
  const { unknown } = reportOfText(gateway.logText());
  const row = { time: expect.any(String), operation: 'Mutation.workflowAction', caller: hash };
  expect(unknown).toEqual([{ ...row, code: 'LedgerUnrecognizedStatus', requestId: 'first' }]);
});

test('a write that a bug of the gateway has ended is an unknown write', () => {
  const writes = [
    'Mutation.workflowAction INTERNAL_SERVER_ERROR',
    'Mutation.saveApprovers OPERATION_STOPPED',
  ];
  const line = { level: 30, time: 1, msg: 'request', requestId: 'r', caller: 'c', writes };
  const code = 'INTERNAL_SERVER_ERROR';
  expect(reportOf([line]).unknown).toMatchObject([{ operation: 'Mutation.workflowAction', code }]);
});

test('faults are causes: neither requests that failed because of the service, nor what an open circuit rejects', () => {
  const line = { level: 40, time: Date.now(), requestId: '1' };
  const call = { ...line, msg: 'call', operation: 'getGLCodes5', outcome: 'UPSTREAM_UNAVAILABLE' };
  const request = { ...line, level: 30, msg: 'request', status: 200 };
  const { faults } = reportOf([
    { ...call, fault: 'ECONNREFUSED' },
    { ...call, fault: 'circuit open' },
    { ...request, outcome: 'UPSTREAM_UNAVAILABLE' },
    { ...request, outcome: 'UPSTREAM_UNAVAILABLE,OVERLOADED' },
  ]);
  expect(faults.map(([, , text]) => text)).toEqual([
    'call getGLCodes5 UPSTREAM_UNAVAILABLE ECONNREFUSED',
    'request UPSTREAM_UNAVAILABLE,OVERLOADED 200',
  ]);
});

test('a write of a process that ended is reported, unless a repeat has learned it or it may be in flight', () => {
  const line = (msg: string, requestId: string, minutesAgo: number, more = {}) => {
    const time = Date.now() - minutesAgo * 60_000;
    return { level: 30, operation: 'restartWorkflow2', caller: 'c', time, requestId, msg, ...more };
  };
  const lines = [
    line('sent', 'answered', 9),
    line('call', 'answered', 9, { outcome: 'answered' }),
    line('sent', 'ended', 8, { claim: 'claim-1' }),
    line('sent', 'interrupted', 7),
    line('call', 'interrupted', 7, { level: 40, outcome: 'UNKNOWN', fault: 'process exited' }),
    line('sent', 'repeated', 6, { claim: 'claim-2' }),
    line('outcome unknown', 'repeat', 5, { level: 40, claim: 'claim-2', code: 'ORPHANED' }),
    line('sent', 'in flight', 0.5),
    line('sent', 'long ago', 70),
  ];
  const codes = (...args: string[]) =>
    reportOf(lines, ...args)
      .unknown.map((one) => Object(one))
      .map(({ requestId, code }) => `${requestId} ${code}`);
  expect(codes()).toEqual(['ended ENDED', 'interrupted ENDED', 'repeat ORPHANED']);
  expect(codes('90')).toContain('long ago ENDED');
});

test('faults are counted by what they say, after what began or ended, however long ago', () => {
  const time = Date.now();
  const request = { level: 30, time, caller: 'c', ms: 0, msg: 'request' };
  const shed = { ...request, outcome: 'OVERLOADED', status: 503 };
  const msg = 'No connection to Redis: ECONNREFUSED';
  const store = { level: 50, time: 1, reason: 'unreachable', msg };
  const late = { ...store, time: 2, reason: 'timeout', msg: 'The store is unavailable: timeout' };
  const end = { level: 30, time, msg: 'keys fetched' };
  const requests = [
    { ...shed, requestId: 'a' },
    { ...shed, requestId: 'b', ms: 10 },
  ];
  const lines = [{ ...shed, time: 1 }, ...requests, store, late, end];
  const { faults, callers } = reportOf(lines);
  expect(faults.map(([count, , text]) => [count, text])).toEqual([
    ['1', 'keys fetched'],
    ['1', 'The store is unavailable: timeout'],
    ['1', 'No connection to Redis: ECONNREFUSED unreachable'],
    ['2', 'request OVERLOADED 503'],
  ]);
  expect(callers).toEqual([['2', '2', '5', '0', 'c', 'b']]);
});

test('a fault that began has ended when it has ended as often, on all instances, whose logs follow each other', () => {
  const line = (level: number, time: number, msg: string, more = {}) => ({
    level,
    time,
    msg,
    ...more,
  });
  const noStore = line(50, 2, 'The store is unavailable', { reason: 'unreachable' });
  const keys = (issuer: string) =>
    line(40, 3, 'cannot fetch keys', { issuer, fault: 'TimeoutError' });
  const lost = { completeSince: 'a', quarantineEnd: '2026-11-21T03:00:00.000Z' };
  const lines = [
    noStore,
    line(50, 4, 'The store is unavailable', { reason: 'timeout' }),
    line(30, 9, 'idempotency store is available again'),
    keys('one'),
    keys('one'),
    keys('two'),
    line(30, 6, 'keys fetched', { issuer: 'one' }),
    line(30, 5, 'circuit closed'),
    line(40, 1, 'circuit opened'),
    line(50, 8, 'idempotency store may have lost records', lost),
    { ...noStore, time: 7 },
  ];
  const { faults } = reportOf(lines);
  expect(faults.map(([, , text]) => text)).toEqual([
    'idempotency store is available again',
    'idempotency store may have lost records 2026-11-21T03:00:00.000Z',
    'The store is unavailable unreachable',
    'keys fetched one',
    'circuit closed',
    'The store is unavailable timeout (ended)',
    'cannot fetch keys one TimeoutError',
    'cannot fetch keys two TimeoutError',
    'circuit opened (ended)',
  ]);
});

test('the end of a fault of one service is not that of another one', () => {
  const opened = { level: 40, msg: 'circuit opened' };
  const { faults } = reportOf([
    { ...opened, time: 1, service: 'ledger' },
    { ...opened, time: 2, service: 'vendors' },
    { level: 30, msg: 'circuit closed', time: 3, service: 'vendors' },
  ]);
  expect(faults.map(([, , text]) => text)).toEqual([
    'circuit closed vendors',
    'circuit opened vendors (ended)',
    'circuit opened ledger',
  ]);
});

test('the last 20 unknown writes are reported, or all', () => {
  const write = { level: 40, msg: 'outcome unknown', operation: 'upgradeToHQ', code: 'ORPHANED' };
  const time = Date.now() - 1000;
  const lines = Array.from({ length: 22 }, (_, n) => ({
    ...write,
    time: time + n,
    requestId: `${n}`,
  }));
  const { writes, unknown } = reportOf(lines);
  expect(writes).toBe('UNKNOWN WRITES: 22 (2 earlier ones are shown with the argument `all`)');
  expect(unknown.map((one) => Object(one).requestId)).toEqual(
    lines.slice(2).map(({ requestId }) => requestId),
  );
  expect(reportOf(lines, '5', 'all').unknown).toHaveLength(22);
  expect(reportOf(lines, 'all').writes).toBe('UNKNOWN WRITES: 22');
});

test('what the queue to the service rejects counts for its caller, who may be in a loop', () => {
  const time = Date.now();
  const request = { level: 30, time, requestId: 'last', msg: 'request', status: 200, azp: 'app' };
  const { callers } = reportOf([
    { ...request, caller: 'loop', outcome: 'UPSTREAM_BUSY', ms: 0 },
    { ...request, caller: 'loop', outcome: 'ok', ms: 2, time: time - 1, requestId: 'earlier' },
    { ...request, caller: 'loop', outcome: 'ok', ms: 4 },
    { ...request, caller: 'other', outcome: 'UPSTREAM_TIMEOUT', ms: 1 },
  ]);
  expect(callers).toEqual([
    ['3', '1', '2', '0', 'loop', 'last', 'app'],
    ['1', '0', '1', '0', 'other', 'last', 'app'],
  ]);
});

test('the caller that takes most of the time or the memory is named first, not the one with most requests', () => {
  const request = { level: 30, time: 1, requestId: 'r', msg: 'request', outcome: 'ok' };
  const many = Array.from({ length: 9 }, () => ({ ...request, caller: 'many', ms: 1 }));
  const slow = { ...request, caller: 'slow', ms: 900 };
  const large = { ...request, caller: 'large', ms: 90, heldBytes: 9_000_000 };
  const { callers } = reportOf([...many, slow, large, { ...large, heldBytes: 1_000_000 }]);
  expect(callers).toEqual([
    ['2', '0', '90', '4883', 'large', 'r'],
    ['1', '0', '900', '0', 'slow', 'r'],
    ['9', '0', '1', '0', 'many', 'r'],
  ]);
});

test('a gateway logs the memory that a long list takes', async () => {
  const list = Array.from({ length: 20_000 }, (_, n) => ({ Code: `${n}`, Name: 'x'.repeat(50) }));
  const { gateway } = await startStack(json({ list, service_status: { status: 0 } }));
  await gateway.graphql(read);
  const line = await gateway.logLine({ msg: 'request', status: 200 });
  expect(line.heldBytes).toBeGreaterThan(1_000_000);
});

test('the minutes are those before the last line, because the clock of the gateway may be wrong', () => {
  const line = { level: 30, msg: 'request', caller: 'c', requestId: 'r' };
  const { callers, end } = reportOf([1, 2, 3_600_002].map((time) => ({ ...line, time })));
  expect(callers).toEqual([['2', '0', '0', '0', 'c', 'r']]);
  expect(end[0]).toBe('LAST LINE: 1970-01-01T01:00:00.002Z');
  expect(reportOf([]).end[0]).toBe('LAST LINE: none');
});

test('lines that cannot be read are counted, such as those with another name of a field', () => {
  const renamed = { level: 30, time: 1, message: 'outcome unknown' };
  const audit = { audit: 'sent', time: '2026-01-01T00:00:00.000Z' };
  expect(reportOf([renamed, audit, renamed]).end[1]).toBe('UNREADABLE LINES: 3'); // And one that is no JSON.
});
