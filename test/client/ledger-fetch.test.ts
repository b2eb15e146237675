import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from '@jest/globals';
import {
  createLedgerFetch,
  type LedgerFetchOptions,
  newIntent,
  type Progress,
  readField,
  settle,
  withIntent,
} from '../../packages/client/src/index.ts';
import { startTestGateway } from '../support/gateway.ts';
import { startHttpServer } from '../support/http-server.ts';

type Reply = (response: ServerResponse) => void;

const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Reply =>
  (response) => {
    const type = { 'content-type': 'application/graphql-response+json' };
    response.writeHead(status, { ...type, ...headers }).end(JSON.stringify(body));
  };

const member = (fields: object) => json({ data: { save: fields } });
const saved = member({ __typename: 'ApproversSaved' });
const cut: Reply = (response) => response.socket?.resetAndDestroy();
const cutInBody: Reply = (response) => {
  response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy());
};
const html =
  (status: number, headers: Record<string, string> = {}): Reply =>
  (response) =>
    response.writeHead(status, headers).end('<html>');
const error = (code: string, extensions: object = {}, path?: string[]) => ({
  errors: [
    { message: '', ...(path && { path }), extensions: { code, requestId: '7', ...extensions } },
  ],
});
const settled = (writes: object[], isComplete: boolean) =>
  json({ data: { settleWrites: { isComplete, writes } } });
const notExecuted = settled([], true);

/** A gateway that gives these replies, one after the other, and the last one from then on. */
async function start(replies: Reply[], options: LedgerFetchOptions = {}) {
  const requests: { headers: IncomingHttpHeaders; body: string }[] = [];
  const { origin } = await startHttpServer(async (request, response) => {
    requests.push({ headers: request.headers, body: await text(request) });
    replies[Math.min(requests.length, replies.length) - 1]?.(response);
  });
  const progress: Progress[] = [];
  const ledgerFetch = createLedgerFetch({
    delayMs: 2,
    patienceMs: 300,
    doubleClickMs: 0,
    onProgress: (event) => progress.push(event),
    ...options,
  });
  const init = (variables: object = {}): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: 'Bearer token' },
    body: JSON.stringify({ query: 'mutation { save { __typename } }', variables }),
  });
  async function mutate(request = init()) {
    const response = await ledgerFetch(origin, request);
    return readField<Record<'save', unknown>, 'save'>(await response.json(), 'save');
  }
  return { origin, requests, progress, ledgerFetch, init, mutate };
}

/** The requests, each by its kind. */
const kinds = (requests: { body: string }[]) =>
  requests.map(({ body }) => (body.includes('SettleWrites') ? 'settle' : 'mutation'));

const kept = { kind: 'member', member: { __typename: 'ApproversSaved' } };
const errorOf = (code: string) => ({ kind: 'error', error: expect.objectContaining({ code }) });

describe('a write', () => {
  test.each<[string, Reply]>([
    ['is cut', cut],
    ['is cut in its body', cutInBody],
    ['is a 502 of a proxy', html(502)],
    ['is a page of a captive portal', html(200)],
    ['may be repeated', json(error('OVERLOADED', { retryable: true }), 503)],
    ['is in progress', member({ __typename: 'LedgerOutcomeUnknown', code: 'IN_PROGRESS' })],
    [
      'is in progress, without its code',
      json({ data: { save: { __typename: 'LedgerOutcomeUnknown' } } }, 200, {
        'idempotent-in-progress': 'true',
      }),
    ],
  ])('whose response %s is repeated with its key and an age', async (_, reply) => {
    const { mutate, requests, progress } = await start([reply, reply, saved]);

    expect(await mutate()).toEqual(kept);

    expect(kinds(requests)).toEqual(['mutation', 'mutation', 'mutation']);
    const keys = requests.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys)).toEqual(new Set([progress[0]?.intent]));
    const ages = requests.map(({ headers }) => Number(headers['idempotency-key-age']));
    // The age includes the time that an attempt may take to arrive.
    expect(ages).toEqual([0, expect.any(Number), expect.any(Number)]);
    expect(Math.min(...ages.slice(1))).toBeGreaterThanOrEqual(20_000);
    expect(progress.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test('that the gateway tried to send and could not has no age when it is repeated', async () => {
    const busy = json(error('UPSTREAM_BUSY', { retryable: true }, ['save']));
    const { mutate, requests, progress } = await start([busy, saved]);
    expect(await mutate()).toEqual(kept);
    expect(requests.map(({ headers }) => headers['idempotency-key-age'])).toEqual(['0', '0']);
    expect(progress).toEqual([
      { intent: expect.any(String), attempt: 1, state: 'not-sent', code: 'UPSTREAM_BUSY' },
    ]);
  });

  test.each<[string, Reply, string]>([
    ['an invalid input', json(error('BAD_USER_INPUT', {}, ['save'])), 'BAD_USER_INPUT'],
    [
      'another request with the key',
      json(error('IDEMPOTENCY_KEY_REUSED', {}, ['save'])),
      'IDEMPOTENCY_KEY_REUSED',
    ],
  ])('is not repeated after %s', async (_, reply, code) => {
    const { mutate, requests } = await start([reply]);
    expect(await mutate()).toEqual(errorOf(code));
    expect(requests).toHaveLength(1);
  });

  test('waits as long as Retry-After asks', async () => {
    const busy = json(error('OVERLOADED', { retryable: true }), 503, { 'retry-after': '60' });
    const { mutate, requests } = await start([busy, notExecuted]);
    // The patience is shorter.
    expect(await mutate()).toEqual(errorOf('OVERLOADED'));
    expect(kinds(requests)).toEqual(['mutation', 'settle']);
  });

  test.each<[string, Reply, unknown]>([
    [
      'its outcome',
      settled([{ responseName: 'save', outcome: { __typename: 'ApproversSaved' } }], true),
      kept,
    ],
    ['that it was not executed', notExecuted, errorOf('IDEMPOTENCY_KEY_SETTLED')],
    ['that nobody can know', settled([], false), { kind: 'unknown', error: expect.anything() }],
    ['nothing', cut, { kind: 'lost', intent: expect.any(String), error: expect.anything() }],
  ])('of megabytes is not sent again after a loss: settling tells %s', async (_, reply, result) => {
    const { mutate, init, requests, progress } = await start([cut, reply], { attemptMs: 200 });
    expect(await mutate(init({ csv: 'x'.repeat(1_000_000) }))).toEqual(result);
    expect(progress.map(({ state }) => state)).toEqual(['settling']);
    expect(new Set(kinds(requests.slice(1)))).toEqual(new Set(['settle']));
    const { variables } = JSON.parse(requests[1]?.body ?? '');
    expect(variables).toEqual({
      idempotencyKey: requests[0]?.headers['idempotency-key'],
      ageMs: expect.any(Number),
    });
    expect(requests[1]?.headers).toMatchObject({ authorization: 'Bearer token' });
    expect(requests[1]?.headers).not.toHaveProperty('idempotency-key');
  });

  test.each([[[html(413)]], [[cut, html(413)]]])(
    'that a proxy rejects is settled, because the browser may have sent it before',
    async (replies) => {
      const { mutate, requests } = await start([...replies, notExecuted]);
      expect(await mutate()).toEqual(errorOf('HTTP_413'));
      expect(kinds(requests).at(-1)).toBe('settle');
      expect(requests).toHaveLength(replies.length + 1);
    },
  );

  test('ends each attempt in time', async () => {
    const silent: Reply = () => {};
    const options = { attemptMs: 200, patienceMs: 20_000 };
    const { mutate, requests } = await start([silent, saved], options);
    expect(await mutate()).toEqual(kept);
    expect(requests.length).toBeGreaterThanOrEqual(2);
  });

  test('stops at once if it is cancelled', async () => {
    const { init, ledgerFetch, origin } = await start([cut], {
      onProgress: () => cancel.abort(new Error('cancelled')),
    });
    const cancel = new AbortController();
    const promise = ledgerFetch(origin, { ...init(), signal: cancel.signal });
    await expect(promise).rejects.toThrow('cancelled');
  });

  test('that is aborted while it is sent tells nothing more', async () => {
    const abort = new AbortController();
    const { init, ledgerFetch, origin, progress } = await start([() => abort.abort()]);
    await expect(ledgerFetch(origin, { ...init(), signal: abort.signal })).rejects.toThrow();
    await new Promise(setImmediate);
    expect(progress).toEqual([]);
  });

  test('that is resumed has the age of its intent', async () => {
    const { mutate, init, requests } = await start([saved]);
    const anHourAgo = (Date.now() - 3_600_000).toString(36);
    await mutate(withIntent(init(), newIntent().replace(/^[^-]+/, anHourAgo)));
    // After the clock was set back, the age is not known, and the largest one is safe.
    const later = (Date.now() + 3_600_000).toString(36);
    await mutate(withIntent(init(), newIntent().replace(/^[^-]+/, later)));
    await mutate(withIntent(init(), 'a key of the app'));
    const ages = requests.map(({ headers }) => headers['idempotency-key-age']);
    expect(Number(ages[0])).toBeGreaterThanOrEqual(3_600_000);
    expect(ages.slice(1)).toEqual(['31536000000', undefined]);
  });
});

describe('a token', () => {
  const expired = json(error('UNAUTHENTICATED'), 401);

  test.each([
    ['mutation { save }', 'old', 'new'],
    ['{ codes }', 'old', 'new'],
    ['mutation { save }', '', ''],
  ])('is renewed once: %s', async (query, old, renewed) => {
    const token = (rejected?: string) => (rejected === undefined ? old : renewed);
    const { ledgerFetch, origin, requests } = await start([expired, expired, notExecuted], {
      token,
    });
    const body = JSON.stringify({ query });
    const response = await ledgerFetch(origin, { method: 'POST', body });
    expect(response.status).toBe(401);
    expect(requests.slice(0, 2).map(({ headers }) => headers.authorization)).toEqual(
      [`Bearer ${old}`, `Bearer ${renewed}`].map((value) => value.trim()),
    );
    expect(requests[0]?.headers['idempotency-key']).toBe(requests[1]?.headers['idempotency-key']);
  });

  test('that cannot be obtained is not a rejected one, and does not hide a loss', async () => {
    let isSignedIn = false;
    const { mutate, requests } = await start([cut], {
      async token() {
        if (!isSignedIn) throw new Error('The issuer cannot be reached.');
        isSignedIn = false;
        return 'token';
      },
    });
    expect(await mutate()).toEqual(errorOf('SIGN_IN_FAILED'));
    expect(requests).toHaveLength(0);
    isSignedIn = true;
    expect(await mutate()).toMatchObject({ kind: 'lost' });
  });

  test('that cannot be obtained for a repeat is asked for again', async () => {
    const tokens = ['token', undefined, 'token'];
    const busy = json(error('UPSTREAM_BUSY', { retryable: true }, ['save']));
    const { mutate, requests, progress } = await start([busy, saved], {
      patienceMs: 20_000,
      async token() {
        const token = tokens.shift();
        if (token === undefined) throw new Error('The issuer cannot be reached.');
        return token;
      },
    });
    expect(await mutate()).toEqual(kept);
    expect(requests.map(({ headers }) => headers['idempotency-key-age'])).toEqual(['0', '0']);
    expect(progress.map(({ state, code }) => [state, code])).toEqual([
      ['not-sent', 'UPSTREAM_BUSY'],
      ['not-sent', 'SIGN_IN_FAILED'],
    ]);
  });

  test.each(['mutation { save }', '{ codes }'])('that fits in no header: %s', async (query) => {
    const token = () => '<html>\n</html>';
    const { ledgerFetch, origin, requests } = await start([saved], { token });
    const response = await ledgerFetch(origin, { method: 'POST', body: JSON.stringify({ query }) });
    expect(await response.json()).toMatchObject({
      errors: [{ extensions: { code: 'SIGN_IN_FAILED' } }],
    });
    expect(requests).toHaveLength(0);
  });

  test('of another user does not repeat or settle a write', async () => {
    const users = ['ada', 'ada', 'bob'];
    const token = () => `e30.${btoa(JSON.stringify({ sub: users.shift() ?? 'bob' }))}.`;
    const { mutate, requests } = await start([cut, cut, notExecuted], {
      token,
      patienceMs: 1e6,
    });
    // At once: to wait cannot help.
    expect(await mutate()).toMatchObject({ kind: 'lost' });
    expect(kinds(requests)).toEqual(['mutation', 'mutation']);
  });
});

test('a token that does not come ends as a failed sign-in, and can be cancelled', async () => {
  const token = () => new Promise<string>(() => {});
  const { mutate, init, requests } = await start([saved], { attemptMs: 50, token });
  expect(await mutate()).toEqual(errorOf('SIGN_IN_FAILED'));
  const signal = AbortSignal.abort(new Error('cancelled'));
  await expect(mutate({ ...init(), signal })).rejects.toThrow('cancelled');
  expect(requests).toHaveLength(0);
});

test('a query has no key, and its response is passed on', async () => {
  const { ledgerFetch, origin, requests } = await start([html(502)]);
  const response = await ledgerFetch(
    new Request(origin, { method: 'POST', body: '{"query":"{ codes }"}' }),
  );
  expect([response.status, await response.text()]).toEqual([502, '<html>']);
  expect(requests[0]?.headers).not.toHaveProperty('idempotency-key');
});

test('settling is repeated while an outcome is in progress, and tells what became of each field', async () => {
  const inProgress = { __typename: 'LedgerOutcomeUnknown', code: 'IN_PROGRESS' };
  const write = (outcome: object) => settled([{ responseName: 'save', outcome }], true);
  const { origin, requests } = await start([
    write(inProgress),
    write({ __typename: 'LedgerFailed' }),
  ]);
  const result = await settle<Record<'save' | 'other', unknown>>(newIntent(), {
    url: origin,
    delayMs: 2,
  });
  expect(requests).toHaveLength(2);
  expect(readField(result, 'save')).toMatchObject({ member: { __typename: 'LedgerFailed' } });
  expect(readField(result, 'other')).toEqual(errorOf('IDEMPOTENCY_KEY_SETTLED'));
  // The package has no texts.
  expect(readField(result, 'other')).toMatchObject({
    error: { message: 'IDEMPOTENCY_KEY_SETTLED' },
  });
  expect(readField<{ save: unknown }, 'save'>({}, 'save')).toMatchObject({
    error: { message: 'RESPONSE_LOST' },
  });
});

test.each([
  ['Apollo Client', (errors: object[]) => ({ error: { errors } })],
  ['urql', (errors: object[]) => ({ error: { graphQLErrors: errors } })],
  ['Relay, without data', (errors: object[]) => ({ error: { source: { errors } } })],
  ['a GraphQL response', (errors: object[]) => ({ errors })],
])('readField reads the errors of %s', (_, resultOf) => {
  const faults = [{ path: ['id'], message: 'is not an integer' }];
  const own = error('BAD_USER_INPUT', { requestId: '7', faults }, ['save']).errors;
  const result = { data: { save: null, other: {} }, ...resultOf(own) };
  expect(readField(result, 'save')).toEqual({
    kind: 'error',
    error: { code: 'BAD_USER_INPUT', message: '', requestId: '7', faults },
  });
  expect(
    readField({ data: {}, ...resultOf(error('OVERLOADED').errors) } as typeof result, 'other'),
  ).toEqual(errorOf('OVERLOADED'));
});

test('settles through a gateway that executes only the documents of an app', async () => {
  const manifest = new URL('../../examples/web/src/gql/persisted-documents.json', import.meta.url);
  const { url, token } = await startTestGateway(
    { url: 'http://127.0.0.1:9/' },
    { TRUSTED_DOCUMENTS: fileURLToPath(manifest) },
  );
  const settled = await settle(newIntent(), { url: `${url}/graphql`, token: () => token });
  // The gateway has just started, so it has no records of the time before.
  expect(settled.errors?.[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
});
