import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { anyWrite, read, write } from '../../testkit/graphql-operation.ts';
import { json, type Reply, reply, startService } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';
import { startHeldStack } from '../support/stack.ts';
import { retryable, startOutcomes, unknown } from '../support/upstream-call.ts';

const success = { service_status: { status: 0 }, list: [], status: 0 };
const failed = 'UPSTREAM_FAILED';
const invalid = 'UPSTREAM_INVALID_RESPONSE';

type Case = [response: string, Reply, code: string, isRetryable: boolean, reads?: number];
type Rest = [code: string, isRetryable: boolean, reads?: number];
const replyWith = (status: number, body: string) =>
  reply(status, body, { location: '/elsewhere', 'retry-after': '0' });
const of = (statuses: number[], ...rest: Rest) =>
  statuses.map((status): Case => [`${status}`, replyWith(status, '<h1>No</h1>'), ...rest]);
/** With a body that means success. */
const successOf = (statuses: number[], ...rest: Rest) =>
  statuses.map((status): Case => {
    return [`${status} with a success`, replyWith(status, JSON.stringify(success)), ...rest];
  });

/** Responses by which the service refuses an operation: a write gets the same error as a read. */
const refusals: Case[] = [
  ...of([307, 308, 400, 404, 409, 451], 'UPSTREAM_BAD_REQUEST', false),
  ...successOf([307, 308], 'UPSTREAM_BAD_REQUEST', false),
  ...[of, successOf].flatMap((cases) => cases([429], 'RATE_LIMITED', true)),
  ...[of, successOf].flatMap((cases) => cases([401], 'UNAUTHENTICATED', false)),
  ...of([403], 'FORBIDDEN', false),
];

/** Responses after which the outcome of a write is unknown. `records.test.ts` has more, and the tests in `transport/`. */
const unusable: Case[] = [
  ...successOf([408, 418, 460, 499, 500, 501, 505], failed, true),
  ...successOf([502, 503, 504], failed, true, 3),
  ...successOf([204, 300, 301, 302, 303, 304], invalid, false),
  // It contradicts itself.
  ...successOf([400, 403, 404, 409], invalid, false),
  ['an empty body', reply(200), invalid, false],
  ['HTML', reply(200, '<!doctype html>'), invalid, false],
  ['JSON followed by text', reply(200, `${JSON.stringify(success)} text`), invalid, false],
  ['an array', json([]), invalid, false],
  ['invalid UTF-8', (response) => void response.end(Buffer.of(0x22, 0xff, 0x22)), invalid, false],
  ['a body over the limit', json({ ...success, message: 'x'.repeat(5000) }), invalid, false],
  ['bytes that are not HTTP', (response) => void response.socket?.end('text\n\n'), invalid, false],
];

/** Sends a write and a read to the service. */
async function send(service: { url: string }): Promise<string[]> {
  const { write, read } = startOutcomes(service.url, { maxResponseBytes: 5000 });
  return [await write(), await read()];
}

test.each([200, 201, 299])('%d with a record is a success', async (status) => {
  const service = await startService(reply(status, JSON.stringify(success)));
  expect(await send(service)).toEqual(['success', 'success']);
});

test.each(refusals)('%s refuses a read and a write', async (_, reaction, code, isRetryable) => {
  const service = await startService(reaction);
  const error = isRetryable ? retryable(code) : code;
  expect(await send(service)).toEqual([error, error]);
  expect(service.received).toHaveLength(2);
});

test.each(unusable)(
  'after %s a read fails, at once or at its third attempt, and the outcome of a write is unknown',
  async (_, reaction, code, isRetryable, reads = 1) => {
    const service = await startService(reaction);
    expect(await send(service)).toEqual([unknown(code), isRetryable ? retryable(code) : code]);
    const paths = service.received.map(({ path }) => path);
    expect(paths).toEqual(['/upgradeToHQ', ...Array(reads).fill('/getGLCodes5')]);
  },
);

// In GraphQL: test/attack/leaks.test.ts has the codes of all faults, and that nothing of the service leaves.

const setReply = shareGateway();

test('the error of a read has its path, its code and the id of the request', async () => {
  const { gateway } = setReply(reply(500));
  const headers = { 'x-request-id': 'request-7' };
  const { status, data, errors } = await gateway.graphql(read, {}, headers);
  expect([status, data]).toEqual([200, { result: null }]);
  const extensions = { code: failed, retryable: true, requestId: 'request-7' };
  expect(errors).toEqual([expect.objectContaining({ path: ['result'], extensions })]);
});

const limited = { code: 'RATE_LIMITED', retryable: true };
const inAnHour = () => new Date(Date.now() + 3_600_000).toUTCString();
const anHour = expect.closeTo(3600, -2);

test.each([
  [429, { 'retry-after': '120' }, limited, 120],
  [429, { 'retry-after': inAnHour() }, limited, anHour],
  [429, { 'retry-after': '9'.repeat(400) }, limited, 86_400],
  [429, {}, limited, 1],
  [503, { 'retry-after': '120' }, { code: failed, retryable: true }, 120],
])('a %d with %j asks the client of a read for the same pause', async (...row) => {
  const [status, headers, error, retryAfterS] = row;
  const { gateway } = setReply(reply(status, '', { ...headers }));
  const response = await gateway.graphql(read);
  expect(response.errors?.[0]?.extensions).toMatchObject({ ...error, retryAfterS });
  expect(Number(response.headers.get('retry-after'))).toEqual(retryAfterS);
});

test('a write that the service rejects with 429 did nothing, and asks its client for the same pause', async () => {
  const pauses = ['30', '120', '60'];
  const { gateway } = setReply((response) =>
    response.writeHead(429, { 'retry-after': pauses.shift() }).end(),
  );
  const fields = ['a', 'b', 'c'].map((name) => `${name}: ${anyWrite()}`).join(' ');
  const { status, errors, headers } = await gateway.graphql(`mutation { ${fields} }`);
  const shown = errors?.map(({ message, extensions: { code, retryAfterS } }) => [
    message,
    code,
    retryAfterS,
  ]);
  const message = 'The service receives too many requests, and rejected this one.';
  expect(shown).toEqual([30, 120, 60].map((seconds) => [message, 'RATE_LIMITED', seconds]));
  expect([status, headers.get('retry-after')]).toEqual([200, '120']);
});

test('a response without a pause has no Retry-After', async () => {
  const { gateway } = setReply(reply(503));
  const { headers, errors } = await gateway.graphql(read);
  expect(headers.has('retry-after')).toBe(false);
  expect(errors?.[0]?.extensions).not.toHaveProperty('retryAfterS');
});

test('an unknown outcome is a member with its code and the id of the request', async () => {
  const { gateway } = setReply(reply(500));
  const { data, errors } = await gateway.graphql(write, {}, { 'x-request-id': 'request-7' });
  expect(errors).toBeUndefined();
  expect(data.result).toEqual({
    __typename: 'LedgerOutcomeUnknown',
    code: failed,
    message: expect.stringContaining('may or may not have taken effect'),
    requestId: 'request-7',
  });
});

test('the log tells a deadline from a client that disconnected', async () => {
  const { service, gateway } = await startHeldStack({ UPSTREAM_TIMEOUT_MS: '300' });
  await gateway.graphql(read);
  await gateway.logLine({ msg: 'call', outcome: 'UPSTREAM_TIMEOUT', fault: 'deadline' });
  const client = new AbortController();
  const lost = gateway.post({ query: read }, {}, client.signal);
  while (service.received.length < 2) await immediate();
  client.abort();
  await expect(lost).rejects.toThrow();
  const line = { msg: 'call', outcome: 'CLIENT_DISCONNECTED', fault: 'client disconnected' };
  expect(await gateway.logLine(line)).toMatchObject({ operation: 'getGLCodes5' });
});
