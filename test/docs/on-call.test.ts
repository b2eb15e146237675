import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { read, write } from '../../testkit/graphql-operation.ts';
import { json, reply } from '../../testkit/service.ts';
import { temporaryFolder } from '../../testkit/temporary-folder.ts';
import { startStack } from '../support/stack.ts';

/* The page of a night on call asks the log three questions with jq. */
const page = readFileSync(new URL('../../docs/on-call.md', import.meta.url), 'utf8');
const commands = [...page.matchAll(/^```sh\n(jq .*?)^```/gms)].map(([, command = '']) => command);
const isInstalled = spawnSync('jq', ['--version']).error === undefined;
const testWithJq = isInstalled ? test : test.skip;

/** What the three commands print for a log. */
async function ask(log: string) {
  const folder = await temporaryFolder();
  const prefixed = log.replace(/^(?=.)/gm, '[pod/gateway-1] ');
  writeFileSync(join(folder, 'gateway.log'), `no JSON\n\n${prefixed}`);
  const [faults = '', callers = '', unknown = ''] = commands.map((command) => {
    const { stdout, stderr } = spawnSync('bash', ['-c', command], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    return stdout;
  });
  const rows = (text: string) => text.split('\n').slice(0, -1);
  return {
    faults: rows(faults).map((row) => row.split('\t')),
    callers: rows(callers).map((row) => row.split('\t')),
    unknown: rows(unknown).map((row): unknown => JSON.parse(row)),
  };
}

const askLines = (lines: object[]) =>
  ask(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));

test('the page has three commands', () => {
  expect(commands).toHaveLength(3);
});

testWithJq(
  'the commands find the faults, the callers and the unknown writes in the log of a gateway',
  async () => {
    const { gateway, respondWith } = await startStack(reply(500));
    await gateway.graphql(write, {}, { 'idempotency-key': 'intent', 'x-request-id': '1' });
    await gateway.graphql(write, {}, { 'idempotency-key': 'intent', 'x-request-id': '2' });
    respondWith(json({ invoice_id: 7, status: 9, service_status: { status: 0 } }));
    await gateway.graphql(read);
    await gateway.graphql(write, {}, { 'x-request-id': '3' });
    await gateway.logLine({ msg: 'request', requestId: '3' });
    const { faults, callers, unknown } = await ask(gateway.logText());
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    expect(faults).toEqual([
      ['1', time, 'call upgradeToHQ UPSTREAM_FAILED 500 status 500'],
      ['1', time, 'write without idempotency key'],
    ]);
    const hash = expect.stringMatching(/^[\w+/=-]{43,44}$/);
    expect(callers).toEqual([['4', '0', expect.any(String), '0', hash, '3']]);
    const row = { time, caller: hash, ids: null };
    expect(unknown).toEqual([
      { ...row, operation: 'upgradeToHQ', code: 'UPSTREAM_FAILED', claim: hash, requestId: '1' },
      {
        ...{ ...row, operation: 'Mutation.workflowAction', code: 'LedgerUnrecognizedStatus' },
        ...{ claim: null, requestId: '3' },
      },
    ]);
  },
);

testWithJq(
  'each write that was sent is found in the log by the number of an approver or an invoice',
  async () => {
    const lines = readFileSync(
      new URL('../../docs/reference/log-lines.md', import.meta.url),
      'utf8',
    );
    const [, command = ''] = /^```sh\n(jq -cR --arg id .*?)^```/ms.exec(lines) ?? [];
    const { gateway, respondWith } = await startStack(reply(500));
    const save = (id: string) =>
      `mutation { saveApprovers(approvers: [{ approverId: "${id}" }]) { __typename } }`;
    await gateway.graphql(save('48214'), {}, { 'x-request-id': '1' });
    respondWith(json({ invoice_id: 48214, status: 1 }));
    await gateway.graphql(save('8'), {}, { 'x-request-id': '2' });
    await gateway.logLine({ msg: 'request', requestId: '2' }); // It may be logged after the response.
    respondWith(json({ invoice_id: 482140, status: 1 }));
    await gateway.graphql(save('9'), {}, { 'x-request-id': '3' });
    for (const status of [0, 1, 2, 3, 7]) {
      respondWith(json({ invoice_id: 0, status }));
      await gateway.graphql(save('48214'), {}, { 'x-request-id': `status-${status}` });
    }
    await gateway.logLine({ msg: 'request', requestId: 'status-7' });
    const cwd = await temporaryFolder();
    writeFileSync(join(cwd, 'gateway.log'), gateway.logText().replace(/^(?=.)/gm, '[pod/1] '));
    const { stdout, stderr } = spawnSync('bash', ['-c', command], { cwd, encoding: 'utf8' });
    expect(stderr).toBe('');
    const found = stdout
      .trim()
      .split('\n')
      .map((line) => Object(JSON.parse(line)));
    expect(found.map(({ msg, requestId }) => [msg, requestId])).toEqual([
      ['sent', '1'],
      ['call', '1'],
      ['outcome unknown', '1'],
      ['request', '2'],
      ...[0, 1, 2, 3, 7].map((status) => ['sent', `status-${status}`]),
    ]);
  },
);

testWithJq(
  'faults of the gateway come first, the newest on top, and then those of requests by number',
  async () => {
    const request = { level: 30, time: 9000, caller: 'c', msg: 'request', outcome: 'OVERLOADED' };
    const call = {
      level: 40,
      time: 9000,
      requestId: '1',
      msg: 'call',
      outcome: 'UPSTREAM_UNAVAILABLE',
    };
    const { faults } = await askLines([
      { ...request, requestId: 'a' },
      { ...request, requestId: 'b' },
      { ...request, requestId: 'c', outcome: 'UPSTREAM_UNAVAILABLE' },
      { ...call, fault: 'ECONNREFUSED' },
      { ...call, fault: 'circuit open' },
      { level: 50, time: 1000, reason: 'unreachable', msg: 'No connection to Redis' },
      { level: 30, time: 2000, msg: 'keys fetched', issuer: 'one' },
    ]);
    expect(faults).toEqual([
      ['1', '1970-01-01T00:00:02Z', 'keys fetched one'],
      ['1', '1970-01-01T00:00:01Z', 'No connection to Redis unreachable'],
      ['2', '1970-01-01T00:00:09Z', 'request OVERLOADED'],
      ['1', '1970-01-01T00:00:09Z', 'call UPSTREAM_UNAVAILABLE ECONNREFUSED'],
    ]);
  },
);

testWithJq(
  'the caller that takes most of the time or the memory comes first, and rejected requests are counted',
  async () => {
    const request = { level: 30, time: 1, requestId: 'r', msg: 'request', outcome: 'ok' };
    const many = Array.from({ length: 9 }, () => ({
      ...request,
      caller: 'many',
      ms: 1,
      azp: 'app',
    }));
    const slow = { ...request, caller: 'slow', ms: 900, outcome: 'UPSTREAM_BUSY' };
    const large = { ...request, caller: 'large', ms: 90, heldBytes: 9_000_000 };
    const { callers } = await askLines([...many, slow, large, { ...large, heldBytes: 1_000_000 }]);
    expect(callers).toEqual([
      ['2', '0', '90', '4883', 'large', 'r'],
      ['1', '1', '900', '0', 'slow', 'r'],
      ['9', '0', '1', '0', 'many', 'r', 'app'],
    ]);
  },
);

testWithJq('a write without a response is unknown, unless a repeat has learned it', async () => {
  const line = (msg: string, requestId: string, more = {}) => {
    return { level: 30, operation: 'restartWorkflow2', time: 1000, requestId, msg, ...more };
  };
  const { unknown } = await askLines([
    line('sent', 'answered'),
    line('call', 'answered', { outcome: 'answered' }),
    line('sent', 'ended', { claim: 'claim-1' }),
    line('sent', 'interrupted'),
    line('call', 'interrupted', { level: 40, outcome: 'UNKNOWN', fault: 'process exited' }),
    line('sent', 'repeated', { claim: 'claim-2' }),
    line('outcome unknown', 'repeat', { level: 40, claim: 'claim-2', code: 'ORPHANED' }),
    line('request', 'replay', {
      ...{ replay: true, writes: ['Mutation.workflowAction LedgerUnrecognizedStatus'] },
    }),
  ]);
  expect(unknown.map((one) => Object(one)).map(({ requestId, code }) => [requestId, code])).toEqual(
    [
      ['ended', null],
      ['interrupted', null],
      ['repeat', 'ORPHANED'],
    ],
  );
});
