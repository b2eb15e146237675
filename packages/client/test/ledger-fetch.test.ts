import { createHash } from 'node:crypto';
import { getEventListeners } from 'node:events';
import { readFileSync } from 'node:fs';
import { setImmediate as immediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, jest, test } from '@jest/globals';
import { buildSchema, parse, validate } from 'graphql';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { until } from '../../../testkit/eventually.ts';
import { startTestGateway } from '../../../testkit/gateway.ts';
import {
  type AnyResult,
  cancel,
  createLedgerFetch,
  type LedgerFetchOptions,
  newIntent,
  type Progress,
  readField,
  retryQueries,
  settle,
  settleDocument,
  withIntent,
} from '../src/index.ts';
import {
  createSave,
  cut,
  type Data,
  errorOf,
  executed,
  fieldError,
  hold,
  html,
  init,
  json,
  kept,
  never,
  notExecuted,
  type Reply,
  replace,
  requestError,
  save,
  saved,
  settled,
  startStubGateway as start,
  tokenOf,
  unknown,
} from './stub-gateway.ts';

/** Where the package runs. */
declare const native: typeof globalThis;

const cutInBody: Reply = (response) => {
  response.writeHead(200, { 'content-length': 100 }).write('{', () => response.destroy());
};
const withoutCode = { data: { save: { __typename: 'LedgerOutcomeUnknown' } } };
const inProgress = json(withoutCode, 200, { 'idempotent-in-progress': 'true' });

/** Two fields with an error each. */
const twoErrors = (first: string, second: string) => {
  const errorIn = (name: string, code: string) => ({
    path: [name],
    extensions: { code, requestId: '7' },
  });
  const errors = [errorIn('other', first), errorIn('save', second)];
  return json({ data: { other: null, save: null }, errors });
};

/** The service has asked for a pause in one of two fields, and neither was sent. */
const partlyLimited = json({
  data: { save: null, other: null },
  errors: [
    { path: ['save'], extensions: { code: 'RATE_LIMITED', requestId: '7', retryable: true } },
    {
      path: ['other'],
      extensions: { code: 'RATE_LIMITED', requestId: '7', retryable: true, retryAfterS: 120 },
    },
  ],
});

/** Collects what a client hears of its repeats. */
function listen() {
  const progress: Progress[] = [];
  return { progress, onProgress: (event: Progress) => progress.push(event) };
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
    const { origin, kinds, keys, ages } = await start([reply, reply, saved]);
    const { progress, onProgress } = listen();
    expect(await save(origin, { onProgress })).toEqual(kept);
    expect(kinds()).toEqual(['mutation', 'mutation', 'mutation']);
    expect(new Set(keys())).toEqual(new Set([progress[0]?.intent]));
    const [first, ...repeated] = ages().map(Number);
    expect(first).toBe(0);
    // The age includes the time that an attempt may take to arrive.
    expect(Math.min(...repeated)).toBeGreaterThanOrEqual(20_000);
    expect(progress.map(({ attempt }) => attempt)).toEqual([1, 2]);
  });

  test.each(['BAD_USER_INPUT', 'IDEMPOTENCY_KEY_REUSED', 'UPSTREAM_BUSY'])(
    'is neither repeated nor settled after %s',
    async (code) => {
      const { origin, kinds } = await start([fieldError(code)]);
      expect(await save(origin)).toEqual(errorOf(code));
      expect(kinds()).toEqual(['mutation']);
    },
  );

  test.each<[string, Reply, unknown]>([
    ['the outcome of a copy', executed, kept],
    ['that nothing was executed', notExecuted, errorOf('IDEMPOTENCY_UNAVAILABLE')],
    [
      'nothing',
      fieldError('IDEMPOTENCY_UNAVAILABLE'),
      expect.objectContaining({
        kind: 'lost',
        error: expect.objectContaining({ reason: 'IDEMPOTENCY_UNAVAILABLE' }),
      }),
    ],
  ])(
    'whose key the gateway could not look up is settled at the end: settling tells %s',
    async (_, settling, result) => {
      // The browser may have sent a copy on another connection, which was executed. So the key is not known to be free.
      const unavailable = fieldError('IDEMPOTENCY_UNAVAILABLE', { retryable: true });
      const { origin, ages } = await start([unavailable], settling);
      expect(await save(origin, { patienceMs: 30 })).toEqual(result);
      // The age 0 is still right: the gateway has responded to each request.
      expect(new Set(ages().filter(Boolean))).toEqual(new Set(['0']));
    },
  );

  const notLookedUp = fieldError('IDEMPOTENCY_UNAVAILABLE', { retryable: true });

  test.each<[string, Reply[]]>([
    ['in a field after another error', [twoErrors('FORBIDDEN', 'IDEMPOTENCY_UNAVAILABLE')]],
    ['before another error', [notLookedUp, fieldError('FORBIDDEN')]],
  ])('whose key the gateway could not look up %s is settled at the end', async (_, replies) => {
    const { origin, kinds } = await start(replies, executed);
    expect(await save(origin, { patienceMs: 30 })).toEqual(kept);
    expect(kinds().at(-1)).toBe('settle');
  });

  test('whose key the gateway could not look up is not known while there is no connection', async () => {
    const { origin } = await start([notLookedUp], cut);
    const intent = newIntent();
    const result = await save(
      origin,
      { patienceMs: 30, attemptMs: 2_000 },
      withIntent(init(), intent),
    );
    expect(result).toMatchObject({ kind: 'lost', intent });
  });

  test.each<[string, Reply]>([
    [
      'in the header',
      fieldError('RATE_LIMITED', { retryable: true }, {}, { 'retry-after': '120' }),
    ],
    ['in the error', fieldError('RATE_LIMITED', { retryable: true, retryAfterS: 120 })],
    ['in one of its errors', partlyLimited],
  ])(
    'that the service asks to send again in 120 s is not sent again before: %s',
    async (_, reply) => {
      const { origin, kinds } = await start([reply]);
      const options = { patienceMs: 60_000 };
      expect(await save(origin, options)).toEqual(errorOf('RATE_LIMITED'));
      expect(kinds()).toEqual(['mutation']);
    },
  );

  test('is sent again as soon as an error allows it, and the page learns that time', async () => {
    const limited = fieldError('RATE_LIMITED', { retryable: true, retryAfterS: 1 });
    const { origin, kinds } = await start([limited, saved]);
    const timers = jest.spyOn(native, 'setTimeout');
    closeAfterTest(() => timers.mockRestore());
    expect(await save(origin, { patienceMs: 20_000 })).toEqual(kept);
    expect(timers.mock.calls.map(([, ms]) => ms)).toContain(1_000);
    expect(kinds()).toEqual(['mutation', 'mutation']);
    const { origin: other } = await start([limited]);
    expect(await save(other, { patienceMs: 0 })).toMatchObject({ error: { retryAfterS: 1 } });
  });

  test('waits as long as Retry-After asks', async () => {
    const busy = requestError('OVERLOADED', { retryable: true }, 503, { 'retry-after': '60' });
    const { origin, kinds } = await start([busy]);
    // The patience is shorter.
    expect(await save(origin)).toEqual(errorOf('OVERLOADED'));
    expect(kinds()).toEqual(['mutation', 'settle']);
  });

  test.each<[string, Reply, unknown]>([
    ['its outcome', executed, kept],
    ['that it was not executed', notExecuted, errorOf('IDEMPOTENCY_KEY_SETTLED')],
    ['that nobody can know', settled([], false), { kind: 'unknown', error: expect.anything() }],
    ['nothing', cut, { kind: 'lost', intent: expect.any(String), error: expect.anything() }],
  ])('of megabytes is not sent again after a loss: settling tells %s', async (_, reply, result) => {
    const { origin, requests } = await start([cut], reply);
    const { progress, onProgress } = listen();
    const large = init({ csv: 'x'.repeat(1_000_000) });
    expect(await save(origin, { attemptMs: 200, onProgress }, large)).toEqual(result);
    expect(progress.map(({ state }) => state)).toEqual(['settling']);
    const [sent, settling, ...more] = requests;
    expect(more.map(({ kind }) => kind)).not.toContain('mutation');
    const { variables } = JSON.parse(settling?.body ?? '');
    expect(variables).toEqual({ idempotencyKey: sent?.key, ageMs: expect.any(Number) });
    expect(settling?.headers).toMatchObject({ authorization: 'Bearer token' });
  });
});

describe('a large body', () => {
  test('may take longer, by its size', async () => {
    const { origin, requests } = await start([saved]);
    const { progress, onProgress } = listen();
    const request = init({ csv: 'x'.repeat(250_000) });
    // Of 250 KB: 16 s more.
    expect(await save(origin, { attemptMs: 1, onProgress }, request)).toEqual(kept);
    expect(progress).toEqual([]);
    expect(requests).toHaveLength(1);
  });

  test('of a size that is not known may take 10 minutes', async () => {
    const { origin, kinds } = await start([saved]);
    const request = { ...init(), body: new Blob([`${init().body}`]) };
    expect(await save(origin, { attemptMs: 1 }, request)).toEqual(kept);
    expect(kinds()).toEqual(['mutation']);
  });
});

describe('a token', () => {
  const post = (query: string) => ({ method: 'POST', body: JSON.stringify({ query }) });

  test.each([
    ['mutation { save }', 'old', 'new'],
    ['{ codes }', 'old', 'new'],
    ['mutation { save }', '', ''],
  ])('is renewed once: %s', async (query, old, renewed) => {
    const token = (rejected?: string) => (rejected === undefined ? old : renewed);
    const { origin, requests, keys } = await start([requestError('UNAUTHENTICATED', {}, 401)]);
    expect((await createLedgerFetch({ token })(origin, post(query))).status).toBe(401);
    const sent = requests.filter(({ kind }) => kind === 'mutation');
    expect(sent.map(({ headers }) => headers.authorization)).toEqual(
      [`Bearer ${old}`, `Bearer ${renewed}`].map((value) => value.trim()),
    );
    expect(new Set(keys()).size).toBe(1);
  });

  const fail = () => Promise.reject(new Error('The issuer cannot be reached.'));

  test.each([
    ['cannot be obtained', fail],
    ['fits in no header', () => '<html>\n</html>'],
    ['does not come', () => new Promise<string>(() => {})],
  ])('that %s ends as a failed sign-in, and nothing is sent', async (_, token) => {
    const { origin, requests } = await start([saved]);
    for (const query of ['mutation { save }', '{ codes }']) {
      const response = await createLedgerFetch({ attemptMs: 50, token })(origin, post(query));
      const errors = [{ extensions: { code: 'SIGN_IN_FAILED' } }];
      expect(await response.json()).toMatchObject({ errors });
    }
    expect(requests).toEqual([]);
  });

  /** The issuer of these tokens cannot be reached for those that are undefined. */
  const tokensOf =
    (...tokens: (string | undefined)[]) =>
    async () =>
      tokens.shift() ?? fail();

  test('that cannot be obtained for a repeat does not hide a loss', async () => {
    const { origin } = await start([cut]);
    expect(await save(origin, { token: tokensOf('token') })).toMatchObject({ kind: 'lost' });
  });

  /** The service has executed one field, and has rejected the token of the next one. */
  const partly = json({
    data: { save: { __typename: 'ApproversSaved' }, next: null },
    errors: [{ path: ['next'], extensions: { code: 'UNAUTHENTICATED', requestId: '7' } }],
  });

  test('that one field rejects does not hide the outcome of another field', async () => {
    const { origin, kinds } = await start([partly]);
    expect(await save(origin, { token: tokensOf('token') })).toMatchObject({ kind: 'lost' });
    expect(kinds()).toEqual(['mutation']);
  });

  test('that one field rejects is renewed, and the repeat has the age of the outcome of another field', async () => {
    const token = tokensOf('old', 'new', 'new');
    const { origin, ages } = await start([partly, saved]);
    expect(await save(origin, { token })).toEqual(kept);
    const [first, repeat] = ages();
    expect(first).toBe('0');
    expect(Number(repeat)).toBeGreaterThan(0);
  });

  test('that cannot be obtained for a repeat is asked for again; what was not sent has no age', async () => {
    const token = tokensOf('token', undefined, 'token');
    const busy = fieldError('UPSTREAM_BUSY', { retryable: true });
    const { origin, ages } = await start([busy, saved]);
    const { progress, onProgress } = listen();
    expect(await save(origin, { patienceMs: 20_000, token, onProgress })).toEqual(kept);
    expect(ages()).toEqual(['0', '0']);
    expect(progress.map(({ state, code }) => [state, code])).toEqual([
      ['not-sent', 'UPSTREAM_BUSY'],
      ['not-sent', 'SIGN_IN_FAILED'],
    ]);
  });

  test('of another user does not repeat or settle a write', async () => {
    // For a write, the question before its repeat, and the repeat.
    const users = ['ada', 'ada', 'ada'];
    const token = () => tokenOf(users.shift() ?? 'bob');
    const { origin, kinds } = await start([cut]);
    // At once: to wait cannot help.
    expect(await save(origin, { token, patienceMs: 1e6 })).toMatchObject({ kind: 'lost' });
    expect(kinds()).toEqual(['mutation', 'mutation']);
  });
});

describe('a double click', () => {
  // Only a page has clicks.
  beforeEach(() => replace(native, 'document', {}));

  const ofAda = { token: () => tokenOf('ada') };

  test.each(['while the first is sent', 'after the first has ended'])(
    '%s is one write with one result',
    async (when) => {
      const { origin, kinds } = await start([saved]);
      // Each click has a token of its own.
      const click = createSave(origin, ofAda);
      const first = click();
      if (when === 'after the first has ended') await first;
      expect(await Promise.all([first, click()])).toEqual([kept, kept]);
      expect(kinds()).toEqual(['mutation']);
    },
  );

  test.each([
    ...['traceparent', 'tracestate', 'baggage', 'sentry-trace', 'b3', 'x-b3-traceid'],
    ...['x-b3-spanid', 'x-b3-parentspanid', 'x-b3-sampled', 'x-b3-flags', 'x-request-id'],
    ...['request-id', 'x-correlation-id', 'correlation-id', 'x-trace-id', 'x-amzn-trace-id'],
    ...['x-cloud-trace-context', 'x-datadog-trace-id', 'x-datadog-parent-id', 'x-datadog-origin'],
    ...['x-datadog-sampling-priority', 'x-datadog-tags', 'uber-trace-id', 'newrelic'],
    'elastic-apm-traceparent',
  ])('is one write although a tracer gives each request another %s', async (name) => {
    const { origin, kinds } = await start([saved]);
    const click = createSave(origin);
    const clicks = ['1', '2'].map((value) => click(init({}, { [name]: value })));
    expect(await Promise.all(clicks)).toEqual([kept, kept]);
    expect(kinds()).toEqual(['mutation']);
  });

  test.each([
    ...['x-contract-id', 'x-subcontractor', 'x-web3-address', 'x-b3-contract', 'b3-id', 'tracer'],
    ...['authorization-id', 'x-datadog-contract', 'my-request-id', 'x-request-id-2', 'x-tenant'],
  ])('with another %s is another write', async (name) => {
    const { origin, requests } = await start([saved]);
    const click = createSave(origin);
    const clicks = ['A', 'B'].map((value) => click(init({}, { [name]: value })));
    expect(await Promise.all(clicks)).toEqual([kept, kept]);
    expect(requests.map(({ headers }) => headers[name]).sort()).toEqual(['A', 'B']);
  });

  test('is told apart by its headers, not by their text', async () => {
    const { origin, kinds } = await start([saved]);
    const click = createSave(origin);
    await Promise.all([click(init({}, { a: '1,b,2' })), click(init({}, { a: '1', b: '2' }))]);
    expect(kinds()).toEqual(['mutation', 'mutation']);
  });

  test.each<[string, string, RequestInit]>([
    ['with other variables', 'ada', init({ name: 'Bob' })],
    ['of another user', 'bob', init()],
  ])('%s is another write', async (_, other, request) => {
    const clicks: [string, RequestInit][] = [
      ['ada', init()],
      [other, request],
    ];
    for (const ordered of [clicks, clicks.toReversed()]) {
      const { origin, keys } = await start([saved]);
      let user = '';
      const click = createSave(origin, { token: () => tokenOf(user) });
      const results = [];
      for (const [current, request] of ordered) {
        user = current;
        results.push(await click(request));
      }
      expect(results).toEqual([kept, kept]);
      expect(new Set(keys()).size).toBe(2);
    }
  });

  test('with doubleClickMs: 0 is another write', async () => {
    const { origin, keys } = await start([saved]);
    const click = createSave(origin, { doubleClickMs: 0 });
    expect(await Promise.all([click(), click()])).toEqual([kept, kept]);
    expect(new Set(keys()).size).toBe(2);
  });

  const withKey = () => withIntent(init(), newIntent());
  test.each<[string, (() => RequestInit)[]]>([
    ['two keys', [withKey, withKey]],
    ['a key and one without', [withKey, init]],
    ['none and a key', [init, withKey]],
  ])('of an app that gave %s is two writes', async (_, requests) => {
    for (const when of ['while the first is sent', 'after the first has ended']) {
      const { origin, keys } = await start([saved]);
      const click = createSave(origin);
      const [first, second] = requests.map((request) => request());
      const sent = click(first);
      if (when === 'after the first has ended') await sent;
      expect(await Promise.all([sent, click(second)])).toEqual([kept, kept]);
      expect(new Set(keys()).size).toBe(2);
    }
  });

  test('on two clients is two writes, each by the fetch of its own', async () => {
    const { origin, keys } = await start([saved]);
    const sent: string[] = [];
    const clicks = ['first', 'second'].map((name) =>
      createSave(origin, {
        fetch(...request: Parameters<typeof fetch>) {
          sent.push(name);
          return fetch(...request);
        },
      }),
    );
    expect(await Promise.all(clicks.map((click) => click()))).toEqual([kept, kept]);
    expect(new Set(keys()).size).toBe(2);
    expect(sent.sort()).toEqual(['first', 'second']);
  });

  test('has none on a server, which sends the writes of many people with one token', async () => {
    Reflect.deleteProperty(native, 'document');
    const { origin, keys } = await start([saved]);
    const write = createSave(origin, ofAda);
    expect(await Promise.all([write(), write()])).toEqual([kept, kept]);
    expect(await write()).toEqual(kept);
    expect(new Set(keys()).size).toBe(3);
  });

  test('of an impatient user ends after the last click', async () => {
    const { origin, requests } = await start([saved]);
    let now = performance.now();
    replace(native.performance, 'now', () => now);
    const click = createSave(origin);
    for (let clicks = 0; clicks < 5; clicks += 1) {
      expect(await click()).toEqual(kept);
      now += 400;
    }
    expect(requests).toHaveLength(1);
    now += 400;
    await click();
    expect(requests).toHaveLength(2);
  });

  const namesOf = (requests: { body: string }[]) =>
    requests.map(({ body }) => JSON.parse(body).variables.name);

  test('is over once the user has sent another write', async () => {
    const { origin, requests } = await start([saved]);
    const click = createSave(origin);
    const names = ['Ada', 'Bob', 'Ada'];
    for (const name of names) await click(init({ name }));
    expect(namesOf(requests)).toEqual(names);
  });

  test('is not over while the first is in flight, also if the user has sent another write', async () => {
    const { reply, release } = hold(saved);
    const { origin, requests } = await start([reply, saved]);
    const click = createSave(origin);
    const first = click(init({ name: 'Ada' }));
    await until(() => requests.length === 1);
    expect(await click(init({ name: 'Bob' }))).toEqual(kept);
    const again = click(init({ name: 'Ada' }));
    release();
    expect(await Promise.all([first, again])).toEqual([kept, kept]);
    expect(namesOf(requests)).toEqual(['Ada', 'Bob']);
  });

  test('can be aborted on its own', async () => {
    const abort = new AbortController();
    const { origin, keys } = await start([() => abort.abort(new Error('unmounted'))]);
    const click = createSave(origin);
    const first = click();
    const second = click({ ...init(), signal: abort.signal });
    await expect(second).rejects.toThrow('unmounted');
    cancel(String(keys()[0]));
    expect(await first).toMatchObject({ error: { code: 'IDEMPOTENCY_KEY_SETTLED' } });
  });

  test('is over once the user has asked what became of it', async () => {
    const { origin, kinds, keys } = await start([saved], executed);
    const click = createSave(origin);
    await click();
    await click();
    const result = await settle<Data>(String(keys()[0]), { url: origin });
    expect(readField(result, 'save')).toEqual(kept);
    await click();
    expect(kinds()).toEqual(['mutation', 'settle', 'mutation']);
  });

  test('is over once the user has asked what became of it, also while the first is in flight', async () => {
    const { origin, kinds, keys } = await start([never, saved], executed);
    const click = createSave(origin);
    const first = click();
    await until(() => kinds().length === 1);
    await settle<Data>(String(keys()[0]), { url: origin });
    expect(await click()).toEqual(kept);
    expect(kinds()).toEqual(['mutation', 'settle', 'mutation']);
    expect(new Set(keys()).size).toBe(2);
    cancel(String(keys()[0]));
    expect(await first).toEqual(kept);
  });

  test('knows the intent to ask with if the first click is aborted', async () => {
    const abort = new AbortController();
    const { origin, keys } = await start([() => abort.abort(new Error('unmounted'))]);
    const click = createSave(origin);
    const first = click({ ...init(), signal: abort.signal });
    const second = click();
    await expect(first).rejects.toThrow('unmounted');
    const result = await second;
    expect(result).toMatchObject({ kind: 'lost', intent: keys()[0] });
  });
});

describe('an intent that has a request already', () => {
  test('is rejected with another one, and nothing is sent', async () => {
    const { origin, kinds } = await start([saved], executed);
    const intent = newIntent();
    const send = (name: string) => save(origin, {}, withIntent(init({ name }), intent));
    expect(await send('Ada')).toEqual(kept);
    expect(await send('Bob')).toEqual(errorOf('INTENT_REUSED'));
    expect(kinds()).toEqual(['mutation']);
  });

  test('is lost with another one while the outcome of the first is not known', async () => {
    const { origin, requests } = await start([never, cut], cut);
    const intent = newIntent();
    const send = (name: string) =>
      save(origin, { attemptMs: 50, patienceMs: 50 }, withIntent(init({ name }), intent));
    const first = send('Ada');
    const lost = { kind: 'lost', intent };
    expect(await send('Bob')).toMatchObject(lost);
    expect(await first).toMatchObject(lost);
    expect(await send('Bob')).toMatchObject(lost);
    const mutations = requests.filter(({ kind }) => kind === 'mutation');
    expect(new Set(mutations.map(({ body }) => JSON.parse(body).variables.name))).toEqual(
      new Set(['Ada']),
    );
    // Settling ends it.
    const other = await start([saved], executed);
    await settle<Data>(intent, { url: other.origin });
    expect(await send('Bob')).toMatchObject({ error: { code: 'INTENT_REUSED' } });
  });

  test('is not forgotten while it is open', async () => {
    const { origin, requests } = await start([cut], cut);
    const intent = newIntent();
    const ada = { token: () => tokenOf('ada'), patienceMs: 5, attemptMs: 5 };
    await save(origin, ada, withIntent(init(), intent));
    const { length } = requests;
    const own = { fetch: async () => Response.json({ data: { save: {} } }) };
    for (let count = 0; count < 250; count += 1) await save(origin, own, init({ count }));
    await settle<Data>(intent, { url: origin, token: () => tokenOf('bob') });
    expect(requests).toHaveLength(length);
  });

  test('that is sent twice at once stays open until both have ended', async () => {
    const [refused, lost] = [hold(fieldError('FORBIDDEN')), hold(cut)];
    const { origin, requests, ages, script } = await start([refused.reply, lost.reply, saved], cut);
    const intent = newIntent();
    const send = () => save(origin, { patienceMs: 0, attemptMs: 500 }, withIntent(init(), intent));
    const first = send();
    await until(() => requests.length === 1);
    const second = send();
    await until(() => requests.length === 2);
    refused.release();
    expect(await first).toEqual(errorOf('FORBIDDEN'));
    lost.release();
    expect(await second).toMatchObject({ kind: 'lost', intent });

    script.replies = [saved];
    requests.length = 0;
    expect(await send()).toEqual(kept);
    expect(Number(ages()[0])).toBeGreaterThan(0);
  });

  test('that is sent twice at once stays open if the second request is aborted', async () => {
    const refused = hold(fieldError('FORBIDDEN'));
    const { origin, requests, ages } = await start([refused.reply, never, saved]);
    const intent = newIntent();
    const send = (signal?: AbortSignal) =>
      save(origin, {}, withIntent({ ...init(), signal: signal ?? null }, intent));
    const first = send();
    await until(() => requests.length === 1);
    const page = new AbortController();
    const second = send(page.signal);
    await until(() => requests.length === 2);
    page.abort(new Error('unmounted'));
    await expect(second).rejects.toThrow('unmounted');
    refused.release();
    expect(await first).toEqual(errorOf('FORBIDDEN'));

    expect(await send()).toEqual(kept);
    expect(Number(ages()[2])).toBeGreaterThan(0);
  });

  test('may have another one if the first did nothing, for certain', async () => {
    const { origin, keys, ages } = await start([fieldError('BAD_USER_INPUT'), saved]);
    const intent = newIntent();
    await save(origin, {}, withIntent(init({ name: '' }), intent));
    expect(await save(origin, {}, withIntent(init({ name: 'Ada' }), intent))).toEqual(kept);
    expect([keys(), ages()]).toEqual([
      [intent, intent],
      ['0', '0'],
    ]);
  });
});

test('the intent of another user is not asked about, and stays for its owner', async () => {
  const { origin, kinds } = await start([saved], executed);
  const intent = newIntent();
  await save(origin, { token: () => tokenOf('ada') }, withIntent(init(), intent));
  const ask = async (user: string) =>
    readField(await settle<Data>(intent, { url: origin, token: () => tokenOf(user) }), 'save');

  expect(await ask('bob')).toMatchObject({ kind: 'lost', intent, error: { reason: 'OTHER_USER' } });
  expect(kinds()).toEqual(['mutation']);
  expect(await ask('ada')).toEqual(kept);
  const byHeader = { headers: { authorization: `Bearer ${tokenOf('bob')}` }, url: origin };
  expect(readField(await settle<Data>(intent, byHeader), 'save')).toMatchObject({ kind: 'lost' });
});

test.each([
  ['a refusal of the service', fieldError('UPSTREAM_BAD_REQUEST')],
  ['a key that another request uses', fieldError('IDEMPOTENCY_KEY_REUSED')],
  ['a rejected document', requestError('OPERATION_LIMIT_EXCEEDED')],
])('after a lost attempt, %s does not hide the outcome', async (_, reply) => {
  const { origin, kinds } = await start([cut, reply], executed);
  expect(await save(origin)).toEqual(kept);
  expect(kinds()).toEqual(['mutation', 'mutation', 'settle']);
});

describe('an error without a path, which may be that of a repeat of the browser,', () => {
  const rejected = requestError('UNAUTHENTICATED');

  test.each([
    ['UNAUTHENTICATED', rejected],
    ['BAD_USER_INPUT', requestError('BAD_USER_INPUT')],
    ['HTTP_413', html(413)],
  ])('is the result once settling has confirmed it, and hides no outcome: %s', async (...row) => {
    const [code, reply] = row;
    for (const [settling, result] of [
      [notExecuted, errorOf(code)],
      [executed, kept],
    ] as const) {
      const { origin, kinds } = await start([reply], settling);
      expect(await save(origin)).toEqual(result);
      expect(kinds()).toEqual(['mutation', 'settle']);
    }
  });

  test('leaves it open if the token is rejected for settling, too', async () => {
    const { origin, kinds } = await start([rejected], rejected);
    const intent = newIntent();
    const result = await save(origin, {}, withIntent(init(), intent));
    expect(result).toMatchObject({ kind: 'lost', intent });
    expect(kinds()).toEqual(['mutation', 'settle']);
  });

  test('lets a large body be sent again with a renewed token', async () => {
    const { origin, requests } = await start([rejected, saved]);
    const token = (rejected?: string) => (rejected === undefined ? 'old' : 'new');
    expect(await save(origin, { token }, init({ csv: 'x'.repeat(300_000) }))).toEqual(kept);
    const tokens = requests.map(({ headers }) => headers.authorization);
    expect(tokens).toEqual(['Bearer old', 'Bearer new']);
  });
});

test('a listener that throws does not end a write, or its settling', async () => {
  const { origin } = await start([cut, cut, saved], executed);
  const onProgress = () => {
    throw new Error('A fault of the page');
  };
  expect(await save(origin, { onProgress })).toEqual(kept);
  const result = await settle<Data>(newIntent(), { url: origin, onProgress });
  expect(readField(result, 'save')).toEqual(kept);
});

test.each([
  ['an error', fieldError('INTERNAL_SERVER_ERROR', { requestId: undefined })],
  ['a field without outcome and error', json({ data: { save: null } })],
])('%s of a router says nothing about a write', async (_, reply) => {
  const { origin, kinds, keys } = await start([reply], executed);
  expect(await save(origin, { patienceMs: 30 })).toEqual(kept);
  expect(kinds().filter((kind) => kind === 'settle')).toHaveLength(1);
  expect(new Set(keys()).size).toBe(1);
});

test.each([200, 403])(
  'an error without a code, with status %i, is not returned as what became of a write',
  async (status) => {
    const { origin } = await start([json({ errors: [{ message: 'No.' }] }, status)]);
    const nothing = errorOf('IDEMPOTENCY_KEY_SETTLED');
    expect(await save(origin, { patienceMs: 30 })).toEqual(nothing);
  },
);

test('a repeat whose token takes long has an age, for a copy of the first may still be on its way', async () => {
  const busy = fieldError('UPSTREAM_BUSY', { retryable: true });
  const { origin, requests, ages } = await start([busy, saved]);
  let now = performance.now();
  replace(native.performance, 'now', () => now);
  const token = () => {
    if (requests.length > 0) now += 40_000;
    return tokenOf('ada');
  };
  expect(await save(origin, { token, patienceMs: 60_000 })).toEqual(kept);
  expect(ages()).toEqual(['0', expect.stringMatching(/^[1-9]/)]);
});

test.each([
  ['has the age 0 for 30 s', 29_000, /^0$/],
  [
    'then has an age, for a copy of the first may have been executed and forgotten',
    31_000,
    /^[1-9]/,
  ],
])('an intent that is sent again after an error %s', async (_, laterMs, age) => {
  const { origin, ages, kinds } = await start([fieldError('BAD_USER_INPUT')]);
  const request = withIntent(init(), newIntent());
  await save(origin, {}, request);
  const now = native.performance.now.bind(native.performance);
  replace(native.performance, 'now', () => now() + laterMs);
  expect(await save(origin, {}, request)).toEqual(errorOf('BAD_USER_INPUT'));
  expect(ages()).toEqual(['0', expect.stringMatching(age)]);
  expect(kinds()).toEqual(['mutation', 'mutation']);
});

test('an intent that is sent again after the device has slept has an age, although the monotonic clock has stopped', async () => {
  const { origin, ages } = await start([fieldError('BAD_USER_INPUT')]);
  const request = withIntent(init(), newIntent());
  await save(origin, {}, request);
  const { now } = Date;
  replace(native.Date, 'now', () => now() + 10 * 86_400_000);
  await save(origin, {}, request);
  expect(ages()).toEqual(['0', expect.stringMatching(/^[1-9]/)]);
});

test.each(['after', 'before'])(
  'an intent that is settled first, and sent %s the answer, has an age, for it must not be executed any more',
  async (time) => {
    const { reply, release } = hold(notExecuted);
    const settledError = fieldError('IDEMPOTENCY_KEY_SETTLED');
    const { origin, kinds, requests } = await start([settledError], reply);
    const intent = newIntent();
    const settling = settle<Data>(intent, { url: origin });
    await until(() => kinds().includes('settle'));
    if (time === 'after') {
      release();
      await settling;
    }
    const result = save(origin, {}, withIntent(init(), intent));
    await until(() => kinds().includes('mutation'));
    release();
    expect(await result).toEqual(errorOf('IDEMPOTENCY_KEY_SETTLED'));
    expect(Number(requests.find(({ kind }) => kind === 'mutation')?.age)).toBeGreaterThan(0);
    await settling;
  },
);

test('a repeat after a settlement has an age, although nothing was executed before', async () => {
  const busy = fieldError('UPSTREAM_BUSY', { retryable: true });
  const settledError = fieldError('IDEMPOTENCY_KEY_SETTLED');
  const { origin, ages } = await start([busy, settledError], notExecuted);
  const intent = newIntent();
  let settling: Promise<unknown> | undefined;
  const onProgress = () => {
    settling ??= settle<Data>(intent, { url: origin });
  };
  const result = save(origin, { onProgress }, withIntent(init(), intent));
  expect(await result).toEqual(errorOf('IDEMPOTENCY_KEY_SETTLED'));
  await settling;
  expect(ages().filter(Boolean)).toEqual(['0', expect.stringMatching(/^[1-9]/)]);
});

test('after one field was sent, a repeat has an age, and an error does not hide the outcome', async () => {
  const extensions = { code: 'IDEMPOTENCY_UNAVAILABLE', requestId: '7', retryable: true };
  const partial = json({
    data: { save: kept.member, restart: null },
    errors: [{ path: ['restart'], extensions }],
  });
  const { origin, ages } = await start([partial, fieldError('FORBIDDEN')], executed);
  expect(await save(origin)).toEqual(kept);
  const [first, repeat] = ages();
  expect([first, repeat]).toEqual(['0', expect.stringMatching(/^[1-9]/)]);
});

test.each([
  ['was executed', executed, kept],
  ['was sent, and not executed', notExecuted, errorOf('IDEMPOTENCY_KEY_SETTLED')],
])('cancel settles, and the promise of the write tells that it %s', async (_, settling, result) => {
  const { origin, kinds } = await start([cut], settling);
  const intent = newIntent();
  const onProgress = () => void cancel(intent);
  const options = { delayMs: 60_000, patienceMs: 1e6, onProgress };
  expect(await save(origin, options, withIntent(init(), intent))).toEqual(result);
  expect(kinds()).toEqual(['mutation', 'settle']);
  expect(cancel(intent)).toBe(false);
});

test('the delay doubles up to ten times the first one', async () => {
  const unavailable = requestError('IDEMPOTENCY_UNAVAILABLE', { retryable: true });
  const { origin } = await start([...Array.from({ length: 6 }, () => unavailable), saved]);
  replace(native.Math, 'random', () => 1); // The longest.
  const timers = jest.spyOn(native, 'setTimeout');
  closeAfterTest(() => timers.mockRestore());
  await save(origin, { delayMs: 4, patienceMs: 60_000 });
  const delays = timers.mock.calls.map(([, ms = 0]) => ms).filter((ms) => ms < 100);
  expect(delays.slice(0, 6)).toEqual([4, 8, 16, 32, 40, 40]);
});

test('the page hears nothing more of a write that it has aborted, and nobody asks for its outcome', async () => {
  const abort = new AbortController();
  const { origin, kinds } = await start([() => abort.abort(new Error('unmounted'))]);
  const { progress, onProgress } = listen();
  const aborted = save(origin, { onProgress }, { ...init(), signal: abort.signal });
  await expect(aborted).rejects.toThrow('unmounted');
  for (let iteration = 0; iteration < 10; iteration += 1) await immediate();
  expect([progress, kinds()]).toEqual([[], ['mutation']]);
});

test('a signal that outlives its writes keeps nothing of them', async () => {
  const { origin } = await start([cut, saved]);
  const { signal } = new AbortController();
  await save(origin, {}, { ...init(), signal });
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

describe('the device', () => {
  /** The device says that it has no connection, and each request fails. `goOnline` brings the connection back. */
  function goOffline() {
    const state = { onLine: false };
    const events = new EventTarget();
    replace(native, 'navigator', state);
    replace(native, 'addEventListener', events.addEventListener.bind(events));
    replace(native, 'removeEventListener', events.removeEventListener.bind(events));
    return {
      fetch: async (...request: Parameters<typeof fetch>) => {
        if (!state.onLine) throw new TypeError('Failed to fetch');
        return fetch(...request);
      },
      goOnline() {
        state.onLine = true;
        events.dispatchEvent(new Event('online'));
      },
    };
  }

  test('is offline: it says so at once, and continues when it is online', async () => {
    const { origin, requests, ages } = await start([saved]);
    const { fetch, goOnline } = goOffline();
    const states: [string, number][] = [];
    const result = await save(origin, {
      fetch,
      patienceMs: 60_000,
      delayMs: 20_000,
      onProgress({ state }) {
        states.push([state, requests.length]);
        setImmediate(goOnline);
      },
    });
    expect(states).toEqual([['offline', 0]]);
    expect(result).toEqual(kept);
    expect(ages()).toEqual(['0']);
  });

  test('stays offline, or the write is cancelled: nothing was sent', async () => {
    const { origin, requests } = await start([saved]);
    const { fetch } = goOffline();
    const token = () => Promise.reject(new Error('The issuer cannot be reached.'));
    for (const options of [{ token, fetch }, { fetch }]) {
      expect(await save(origin, { patienceMs: 10, ...options })).toEqual(errorOf('OFFLINE'));
    }
    const intent = newIntent();
    const onProgress = () => void cancel(intent);
    const request = withIntent(init({ a: 1 }), intent);
    expect(await save(origin, { fetch, onProgress }, request)).toEqual(errorOf('CANCELLED'));
    expect(requests).toEqual([]);
  });

  test('loses its connection in the middle of a write: the page hears it, and the write continues', async () => {
    const { origin, script } = await start([cut, saved]);
    const { progress, onProgress } = listen();
    const result = save(origin, {
      patienceMs: 60_000,
      onProgress(event) {
        onProgress(event);
        script.probing = event.state === 'lost' ? cut : settled([]);
      },
    });
    expect(await result).toEqual(kept);
    expect(progress.map(({ state }) => state)).toEqual(['lost', 'offline']);
  });

  test.each([true, false])(
    'has no token, although the network works (it says: %s): the sign-in has failed',
    async (onLine) => {
      replace(native, 'navigator', { onLine });
      const { origin, requests } = await start([saved]);
      const token = () => Promise.reject(new Error('The session has ended.'));
      expect(await save(origin, { token })).toEqual(errorOf('SIGN_IN_FAILED'));
      expect(requests).toEqual([]);
    },
  );

  test.each([
    ['a write is sent', [cut, saved], kept],
    ['its outcome is asked for', [cut], kept],
  ])(
    'says that it is offline, although the network works, as with some VPNs: %s',
    async (...row) => {
      const [, replies, result] = row;
      replace(native, 'navigator', { onLine: false });
      const { origin, probes } = await start(replies, executed);
      const { progress, onProgress } = listen();
      expect(await save(origin, { patienceMs: 200, onProgress })).toEqual(result);
      // Only a question is sent first. If it is answered, there is a connection.
      expect(probes.length).toBeGreaterThan(0);
      expect(progress.map(({ state }) => state)).not.toContain('offline');
    },
  );

  test('has no AbortSignal.any and no crypto', async () => {
    replace(native.AbortSignal, 'any', undefined);
    replace(native, 'crypto', undefined);
    const { origin } = await start([cut, saved]);
    const { signal } = new native.AbortController();
    expect(await save(origin, {}, { ...init(), signal })).toEqual(kept);
  });

  test.each([
    ['a day ahead', 86_400_000],
    ['a day behind', -86_400_000],
  ])('has a clock that is %s: an age is a duration', async (_, aheadMs) => {
    const { now } = Date;
    replace(native.Date, 'now', () => now() + aheadMs);
    const { origin, ages } = await start([cut, saved]);
    expect(await save(origin)).toEqual(kept);
    const age = Number(ages()[1]);
    expect(age).toBeGreaterThanOrEqual(20_000);
    expect(age).toBeLessThan(80_000);
  });

  test('has a clock that is set back in mid-write: the time of the page counts', async () => {
    const { origin, ages } = await start([cut, saved]);
    const { now } = Date;
    const { performance } = native;
    const monotonic = performance.now.bind(performance);
    const onProgress = () => {
      // 300 s later, after it was set back by 290 s.
      replace(native.Date, 'now', () => now() + 10_000);
      replace(performance, 'now', () => monotonic() + 300_000);
    };
    expect(await save(origin, { onProgress, patienceMs: 1e6 })).toEqual(kept);
    expect(Number(ages()[1])).toBeGreaterThanOrEqual(320_000);
  });

  test('has a full storage: the page still knows its intents', async () => {
    const setItem = () => {
      throw new Error('QuotaExceededError');
    };
    replace(native, 'sessionStorage', { getItem: () => null, setItem });
    const { origin } = await start([saved]);
    const intent = newIntent();
    expect(await save(origin, {}, withIntent(init(), intent))).toEqual(kept);
    const other = withIntent(init({ a: 1 }), intent);
    expect(await save(origin, {}, other)).toEqual(errorOf('INTENT_REUSED'));
  });

  test('has no AbortController: it says so when the fetch is created', () => {
    replace(native, 'AbortController', undefined);
    expect(() => createLedgerFetch()).toThrow('createLedgerFetch needs AbortController.');
  });
});

test('settling is repeated while an outcome is in progress, and tells what became of each field', async () => {
  const write = (outcome: object) => settled([{ responseName: 'save', outcome }]);
  const pending = write({ __typename: 'LedgerOutcomeUnknown', code: 'IN_PROGRESS' });
  const { origin, script, requests } = await start([], (response) => {
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
  const manifest = new URL(
    '../../../examples/web/src/gql/persisted-documents.json',
    import.meta.url,
  );
  const { url, token } = await startTestGateway(
    { url: 'http://127.0.0.1:9/' },
    { TRUSTED_DOCUMENTS: fileURLToPath(manifest) },
  );
  const settled = await settle(newIntent(), { url: `${url}/graphql`, token: () => token });
  // The gateway has just started, so it has no records of the time before.
  expect(settled.errors?.[0]?.extensions).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
});

test('settling a write has the credentials of its request, such as cookies of another origin', async () => {
  const { origin, kinds } = await start([cut], executed);
  const credentials: unknown[] = [];
  const options: LedgerFetchOptions = {
    patienceMs: 0,
    fetch(url, request) {
      credentials.push(request?.credentials);
      return fetch(url, request);
    },
  };
  const request: RequestInit = { ...init(), credentials: 'include' };
  expect(await save(origin, options, request)).toEqual(kept);
  await settle(newIntent(), { ...options, url: origin, credentials: 'include' });
  expect(kinds()).toEqual(['mutation', 'settle', 'settle']);
  expect(credentials).toEqual(['include', 'include', 'include']);
});

test.each(['GRAPHQL_VALIDATION_FAILED', 'QUERY_NOT_IN_SAFELIST'])(
  'a gateway that is older than the package, and says %s, is asked with the document of 1.0.0',
  async (code) => {
    const { origin, script, requests } = await start([], (response) => {
      script.settling = executed;
      requestError(code, {}, 400)(response);
    });
    const result = await settle<Data>(newIntent(), { url: origin });
    expect(readField(result, 'save')).toEqual(kept);
    const documents = requests.map(({ body }) => JSON.parse(body).query);
    expect(documents).toEqual([settleDocument, expect.any(String)]);
    const [, first] = documents;
    // Its id in the manifests of 1.0.0.
    expect(createHash('sha256').update(first).digest('hex')).toBe(
      '5e99c1767f73d970ded5721028db5129a1297dedc62b778d9dfc75f2f55fe7d8',
    );
    // The gateways of today know it, too.
    const schema = readFileSync(new URL('../../../schema.client.graphql', import.meta.url), 'utf8');
    expect(validate(buildSchema(schema), parse(first))).toEqual([]);
  },
);

describe('a query', () => {
  test.each<[string, RequestInit]>([
    ['by its text', { body: '{"query":"{ codes }"}' }],
    ['by hash', { headers: { 'operation-type': 'query' }, body: '{"extensions":{}}' }],
    ['with mutation in a variable', { body: '{"query":"{ a }","variables":{"b":"mutation"}}' }],
  ])('%s has no key, and its response is passed on', async (_, request) => {
    const { origin, requests } = await start([html(502)]);
    const response = await createLedgerFetch()(new Request(origin, { method: 'POST', ...request }));
    expect([response.status, await response.text()]).toEqual([502, '<html>']);
    expect(requests).toHaveLength(1);
    expect(requests[0]?.headers).not.toHaveProperty('idempotency-key');
    expect(requests[0]?.headers).not.toHaveProperty('operation-type');
  });

  const query: RequestInit = { method: 'POST', body: '{"query":"{ codes }"}' };
  const unavailable: Reply = (response) => response.writeHead(503, { 'retry-after': '0' }).end();

  test.each([
    ['a cut', cut],
    ['a timeout', never],
    ['a 503', unavailable],
  ])('is sent again after %s, if the app asks for it', async (_, fault) => {
    const { origin, requests } = await start([fault, saved]);
    const options = { timeoutMs: 500, retries: 1, delayMs: 2 };
    // A request whose body is sent again, too.
    const response = await retryQueries(createLedgerFetch(), options)(new Request(origin, query));
    expect(await response.json()).toMatchObject({ data: {} });
    expect(requests.map(({ body }) => body)).toEqual([query.body, query.body]);
  });

  test.each([
    '{"documentId":"7","variables":{"query":"a"}}',
    '{"query":"","extensions":{"persistedQuery":{"sha256Hash":"7"}}}',
  ])(
    'that names its document by a hash has a key unless it says that it is a query: %s',
    async (body) => {
      const { origin, requests } = await start([saved]);
      await retryQueries(createLedgerFetch(), { retries: 1 })(origin, { method: 'POST', body });
      expect(requests[0]?.headers).toHaveProperty('idempotency-key');
    },
  );

  test.each([
    ['60 seconds', () => '60'],
    ['a minute from now', () => new Date(Date.now() + 60_000).toUTCString()],
  ])(
    'is not sent again if the server asks to wait for longer than a user does: %s',
    async (...row) => {
      const busy: Reply = (response) => response.writeHead(503, { 'retry-after': row[1]() }).end();
      const { origin, requests } = await start([busy, saved]);
      const queryFetch = retryQueries(createLedgerFetch(), { retries: 1, delayMs: 2 });
      expect((await queryFetch(origin, query)).status).toBe(503);
      expect(requests).toHaveLength(1);
    },
  );

  test('is sent three times at most without options', async () => {
    const { origin, requests } = await start([unavailable, unavailable, saved]);
    const response = await retryQueries(createLedgerFetch())(origin, query);
    expect(await response.json()).toMatchObject({ data: {} });
    expect(requests).toHaveLength(3);
  });

  test('is sent once with options that do not say how often', async () => {
    const { origin, requests } = await start([cut]);
    await expect(retryQueries(createLedgerFetch(), {})(origin, query)).rejects.toThrow();
    expect(requests).toHaveLength(1);
  });

  test('fails after its last attempt', async () => {
    const { origin, requests } = await start([cut]);
    const queryFetch = retryQueries(createLedgerFetch(), { retries: 2, delayMs: 2 });
    await expect(queryFetch(origin, query)).rejects.toThrow();
    expect(requests).toHaveLength(3);
  });
});

describe('readField', () => {
  const faults = [{ path: ['id'], message: 'is not an integer' }];
  const error = { code: 'BAD_USER_INPUT', message: '', requestId: '7', faults };
  const extensions = { code: 'BAD_USER_INPUT', requestId: '7', faults };
  const errors = [
    { message: '', path: ['save'], extensions },
    { message: '', extensions: { code: 'OVERLOADED' } },
  ];
  const data = { save: null, other: null };

  test.each<[string, AnyResult<Record<'save' | 'other', null>>]>([
    ['graphql-request throws', { error: { response: { data, errors } } }],
    ['Apollo Client throws', { error: { errors } }],
    ['Relay throws', { error: { source: { errors } } }],
    ['urql returns', { data, error: { graphQLErrors: errors } }],
    ['a server responds', { data, errors }],
  ])('reads what %s', (_, result) => {
    expect(readField(result, 'save')).toEqual({ kind: 'error', error });
    expect(readField(result, 'other')).toEqual(errorOf('OVERLOADED'));
  });

  test('reads the outcomes that come with an error', () => {
    const error = { response: { errors, data: { other: { __typename: 'ApproversSaved' } } } };
    expect(readField<{ other: object }, 'other'>({ error }, 'other')).toEqual(kept);
  });

  test('has no outcome for a field that a settlement leaves out, and says whether it was executed only if that is certain', async () => {
    const read = async (isComplete: boolean) => {
      const writes = [{ responseName: 'other', outcome: { __typename: 'LedgerFailed' } }];
      const { origin } = await start([], settled(writes, isComplete));
      const intent = newIntent();
      return readField(await settle<Data>(intent, { url: origin }), 'save', intent);
    };
    expect(await read(true)).toEqual(errorOf('IDEMPOTENCY_KEY_SETTLED'));
    expect(await read(false)).toMatchObject({
      kind: 'unknown',
      error: { code: 'OUTCOME_UNKNOWN' },
    });
  });

  test('reads errors in which a router writes null for what it leaves out', () => {
    const read = (error: object) =>
      readField({ errors: [error] } as AnyResult<Data>, 'save', 'intent');
    expect(read({ path: ['save'], extensions: null })).toMatchObject({ kind: 'lost' });
    expect(read({ path: null, extensions })).toEqual({ kind: 'error', error });
  });

  test('has the intent of every result that is lost', () => {
    const aborted = { data: undefined };
    const intent = newIntent();
    const read = (intent?: string) => readField<Data, 'save'>(aborted, 'save', intent);
    expect(read(intent)).toMatchObject({ kind: 'lost', intent });
    expect(read()).toMatchObject({ kind: 'unknown' });
  });
});
