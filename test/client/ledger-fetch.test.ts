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
import {
  cut,
  errorOf,
  executed,
  fieldError,
  html,
  init,
  json,
  kept,
  notExecuted,
  type Reply,
  requestError,
  save,
  saved,
  settled,
  startStubGateway,
  tokenOf,
  unknown,
} from './stub-gateway.ts';

const cutInBody: Reply = (response) => {
  response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy());
};
const withoutCode = { data: { save: { __typename: 'LedgerOutcomeUnknown' } } };
const inProgress = json(withoutCode, 200, { 'idempotent-in-progress': 'true' });

/** Starts a gateway with these replies, and a client of it. */
async function start(replies: Reply[], options: LedgerFetchOptions = {}, settling?: Reply) {
  const gateway = await startStubGateway(replies, settling);
  const progress: Progress[] = [];
  const all = {
    doubleClickMs: 0,
    onProgress: (event: Progress) => progress.push(event),
    ...options,
  };
  const mutate = (request = init()) => save(gateway.origin, all, request);
  /** Posts a document as it is. */
  const post = (query: string) =>
    createLedgerFetch(all)(gateway.origin, { method: 'POST', body: JSON.stringify({ query }) });
  return { ...gateway, progress, mutate, post };
}

describe('a write', () => {
  test.each<[string, Reply]>([
    ['is cut', cut],
    ['is cut in its body', cutInBody],
    ['is a 502 of a proxy', html(502)],
    ['is a page of a captive portal', html(200)],
    ['may be repeated', requestError('OVERLOADED', { retryable: true }, 503)],
    ['is in progress', unknown('IN_PROGRESS')],
    ['is in progress, without its code', inProgress],
  ])('whose response %s is repeated with its key and an age', async (_, reply) => {
    const { mutate, kinds, keys, ages, progress } = await start([reply, reply, saved]);

    expect(await mutate()).toEqual(kept);

    expect(kinds()).toEqual(['mutation', 'mutation', 'mutation']);
    expect(new Set(keys())).toEqual(new Set([progress[0]?.intent]));
    const [first, ...repeated] = ages().map(Number);
    expect(first).toBe(0);
    // The age includes the time that an attempt may take to arrive.
    expect(Math.min(...repeated)).toBeGreaterThanOrEqual(20_000);
    expect(progress.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test.each(['BAD_USER_INPUT', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_UNAVAILABLE'])(
    'is neither repeated nor settled after %s',
    async (code) => {
      const { mutate, kinds } = await start([fieldError(code)]);
      expect(await mutate()).toEqual(errorOf(code));
      expect(kinds()).toEqual(['mutation']);
    },
  );

  test('waits as long as Retry-After asks', async () => {
    const headers = { 'retry-after': '60' };
    const { mutate, kinds } = await start([
      requestError('OVERLOADED', { retryable: true }, 503, headers),
    ]);
    // The patience is shorter.
    expect(await mutate()).toEqual(errorOf('OVERLOADED'));
    expect(kinds()).toEqual(['mutation', 'settle']);
  });

  test.each<[string, Reply, unknown]>([
    ['its outcome', executed, kept],
    ['that it was not executed', notExecuted, errorOf('IDEMPOTENCY_KEY_SETTLED')],
    ['that nobody can know', settled([], false), { kind: 'unknown', error: expect.anything() }],
    ['nothing', cut, { kind: 'lost', intent: expect.any(String), error: expect.anything() }],
  ])('of megabytes is not sent again after a loss: settling tells %s', async (_, reply, result) => {
    const { mutate, requests, progress } = await start([cut], { attemptMs: 200 }, reply);
    expect(await mutate(init({ csv: 'x'.repeat(1_000_000) }))).toEqual(result);
    expect(progress.map(({ state }) => state)).toEqual(['settling']);
    const [sent, settling, ...more] = requests;
    expect(more.map(({ kind }) => kind)).not.toContain('mutation');
    const { variables } = JSON.parse(settling?.body ?? '');
    expect(variables).toEqual({ idempotencyKey: sent?.key, ageMs: expect.any(Number) });
    expect(settling?.headers).toMatchObject({ authorization: 'Bearer token' });
    expect(settling?.headers).not.toHaveProperty('idempotency-key');
  });

  test('that is aborted while it is sent tells nothing more', async () => {
    const abort = new AbortController();
    const { mutate, progress } = await start([() => abort.abort()]);
    await expect(mutate({ ...init(), signal: abort.signal })).rejects.toThrow();
    await new Promise(setImmediate);
    expect(progress).toEqual([]);
  });

  test('that is resumed has the age of its intent', async () => {
    const { mutate, ages } = await start([saved]);
    const anHourAgo = (Date.now() - 3_600_000).toString(36);
    await mutate(withIntent(init(), newIntent().replace(/^[^-]+/, anHourAgo)));
    // After the clock was set back, the age is not known, and the largest one is safe.
    const later = (Date.now() + 3_600_000).toString(36);
    await mutate(withIntent(init(), newIntent().replace(/^[^-]+/, later)));
    await mutate(withIntent(init(), 'a key of the app'));
    const [resumed, ...others] = ages();
    expect(Number(resumed)).toBeGreaterThanOrEqual(3_600_000);
    expect(others).toEqual(['31536000000', undefined]);
  });
});

describe('a token', () => {
  test.each([
    ['mutation { save }', 'old', 'new'],
    ['{ codes }', 'old', 'new'],
    ['mutation { save }', '', ''],
  ])('is renewed once: %s', async (query, old, renewed) => {
    const token = (rejected?: string) => (rejected === undefined ? old : renewed);
    const expired = requestError('UNAUTHENTICATED', {}, 401);
    const { post, requests, keys } = await start([expired], { token });
    expect((await post(query)).status).toBe(401);
    const sent = requests.filter(({ kind }) => kind === 'mutation');
    expect(sent.map(({ headers }) => headers.authorization)).toEqual(
      [`Bearer ${old}`, `Bearer ${renewed}`].map((value) => value.trim()),
    );
    expect(new Set(keys()).size).toBe(1);
  });

  /** The tokens of an issuer, which cannot be reached for those that are undefined. */
  const tokensOf = (tokens: (string | undefined)[]) => async () => {
    const token = tokens.shift();
    if (token === undefined) throw new Error('The issuer cannot be reached.');
    return token;
  };

  test('that cannot be obtained is not a rejected one, and does not hide a loss', async () => {
    const { mutate, kinds } = await start([cut], { token: tokensOf([undefined, 'token']) });
    expect(await mutate()).toEqual(errorOf('SIGN_IN_FAILED'));
    expect(kinds()).toEqual([]);
    expect(await mutate()).toMatchObject({ kind: 'lost' });
  });

  test('that cannot be obtained for a repeat is asked for again; what was not sent has no age', async () => {
    const token = tokensOf(['token', undefined, 'token']);
    const busy = fieldError('UPSTREAM_BUSY', { retryable: true });
    const { mutate, ages, progress } = await start([busy, saved], { patienceMs: 20_000, token });
    expect(await mutate()).toEqual(kept);
    expect(ages()).toEqual(['0', '0']);
    expect(progress.map(({ state, code }) => [state, code])).toEqual([
      ['not-sent', 'UPSTREAM_BUSY'],
      ['not-sent', 'SIGN_IN_FAILED'],
    ]);
  });

  test.each(['mutation { save }', '{ codes }'])('that fits in no header: %s', async (query) => {
    const { post, requests } = await start([saved], { token: () => '<html>\n</html>' });
    const errors = [{ extensions: { code: 'SIGN_IN_FAILED' } }];
    expect(await (await post(query)).json()).toMatchObject({ errors });
    expect(requests).toHaveLength(0);
  });

  test('of another user does not repeat or settle a write', async () => {
    const users = ['ada', 'ada'];
    const token = () => tokenOf(users.shift() ?? 'bob');
    const { mutate, kinds } = await start([cut], { token, patienceMs: 1e6 });
    // At once: to wait cannot help.
    expect(await mutate()).toMatchObject({ kind: 'lost' });
    expect(kinds()).toEqual(['mutation', 'mutation']);
  });

  test('that does not come ends as a failed sign-in, and can be cancelled', async () => {
    const token = () => new Promise<string>(() => {});
    const { mutate, requests } = await start([saved], { attemptMs: 50, token });
    expect(await mutate()).toEqual(errorOf('SIGN_IN_FAILED'));
    const signal = AbortSignal.abort(new Error('cancelled'));
    await expect(mutate({ ...init(), signal })).rejects.toThrow('cancelled');
    expect(requests).toHaveLength(0);
  });
});

test('settling is repeated while an outcome is in progress, and tells what became of each field', async () => {
  const write = (outcome: object) => settled([{ responseName: 'save', outcome }]);
  const pending = write({ __typename: 'LedgerOutcomeUnknown', code: 'IN_PROGRESS' });
  const { origin, script, requests } = await start([], {}, (response) => {
    pending(response);
    script.settling = write({ __typename: 'LedgerFailed' });
  });
  const options = { url: origin, delayMs: 2 };
  const result = await settle<Record<'save' | 'other', unknown>>(newIntent(), options);
  expect(requests).toHaveLength(2);
  expect(readField(result, 'save')).toMatchObject({ member: { __typename: 'LedgerFailed' } });
  // The package has no texts.
  const notThere = { code: 'IDEMPOTENCY_KEY_SETTLED', message: 'IDEMPOTENCY_KEY_SETTLED' };
  expect(readField(result, 'other')).toMatchObject({ kind: 'error', error: notThere });
  expect(readField<{ save: unknown }, 'save'>({}, 'save')).toMatchObject({
    error: { message: 'RESPONSE_LOST' },
  });
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
