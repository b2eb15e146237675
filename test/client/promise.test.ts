import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, test } from '@jest/globals';
import {
  type AnyResult,
  cancel,
  createLedgerFetch,
  createWrite,
  type LedgerFetchOptions,
  newIntent,
  readField,
  retryQueries,
  settle,
  withIntent,
} from '../../packages/client/src/index.ts';
import { startHttpServer } from '../support/http-server.ts';

type Reply = (response: ServerResponse) => void;
const AGE = 'idempotency-key-age';
type Data = { save: { __typename: string } };

const json =
  (body: unknown, status = 200): Reply =>
  (response) => {
    const type = { 'content-type': 'application/graphql-response+json' };
    response.writeHead(status, type).end(JSON.stringify(body));
  };
const saved = json({ data: { save: { __typename: 'ApproversSaved' } } });
const cut: Reply = (response) => response.socket?.resetAndDestroy();
const never: Reply = () => {};
const error = (code: string, extensions: object = { requestId: '7' }, path: string[] = ['save']) =>
  json({
    data: { save: null },
    errors: [{ message: '', ...(path.length && { path }), extensions: { code, ...extensions } }],
  });
const settled = (writes: object[]) =>
  json({ data: { settleWrites: { isComplete: true, writes } } });
const notExecuted = settled([]);
const executed = settled([{ responseName: 'save', outcome: { __typename: 'ApproversSaved' } }]);

/** A gateway that gives these replies to mutations, and this one to `settleWrites`. */
async function start(replies: Reply[], settling: Reply = notExecuted) {
  const mutations: { key: unknown; query: string; headers: object }[] = [];
  const settlings: string[] = [];
  const { origin } = await startHttpServer(async (request, response) => {
    const body = await text(request);
    if (body.includes('SettleWrites')) {
      settlings.push(JSON.parse(body).variables.idempotencyKey);
      return settling(response);
    }
    const { headers } = request;
    mutations.push({ key: headers['idempotency-key'], query: body, headers });
    replies[Math.min(mutations.length, replies.length) - 1]?.(response);
  });
  return { origin, mutations, settlings };
}

const tokenOf = (sub: string) =>
  `e30.${btoa(JSON.stringify({ iss: 'issuer', sub, at: Math.random() }))}.`;

const init = (variables: object = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ query: 'mutation { save { __typename } }', variables }),
});

async function save(url: string, options: LedgerFetchOptions = {}, request = init()) {
  const ledgerFetch = createLedgerFetch({ delayMs: 2, patienceMs: 300, ...options });
  const response = await ledgerFetch(url, request);
  return readField<Data, 'save'>(await response.json(), 'save');
}

/** The package runs outside of the realm of the tests. */
const realm: typeof globalThis = createLedgerFetch.constructor('return globalThis')();
const replaced: [object, string, PropertyDescriptor | undefined][] = [];

afterEach(() => {
  for (const [object, name, own] of replaced.splice(0)) {
    if (own) Object.defineProperty(object, name, own);
    else Reflect.deleteProperty(object, name);
  }
});

function replace(object: object, name: string, value: unknown): void {
  replaced.push([object, name, Object.getOwnPropertyDescriptor(object, name)]);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
}

const kept = { kind: 'member', member: { __typename: 'ApproversSaved' } };

describe('a double click', () => {
  test.each([
    ['while the first is sent', () => [0, 0]],
    ['after the first has ended', () => [0, 1]],
  ])('%s is one write with one result', async (_, turns) => {
    const { origin, mutations } = await start([saved]);
    const results: unknown[] = [];
    // Each click has a client, a token and an intent of its own, as in an app that creates them in its listener.
    const click = async () => {
      const token = () => tokenOf('ada');
      results.push(await save(origin, { token }, withIntent(init(), newIntent())));
    };
    const first = click();
    if (turns()[1] === 1) await first;
    await Promise.all([first, click()]);
    expect(results).toEqual([kept, kept]);
    expect(mutations).toHaveLength(1);
  });

  test.each<[string, LedgerFetchOptions, RequestInit]>([
    ['with other variables', {}, init({ name: 'Bob' })],
    ['of another user', { token: () => tokenOf('bob') }, init()],
    ['with doubleClickMs: 0', { doubleClickMs: 0 }, init()],
  ])('%s is another write', async (_, options, request) => {
    const { origin, mutations } = await start([saved]);
    const token = () => tokenOf('ada');
    await Promise.all([save(origin, { token }), save(origin, { token, ...options }, request)]);
    expect(new Set(mutations.map(({ key }) => key)).size).toBe(2);
  });

  test.each([
    [0, 500],
    [500, 0],
  ])(
    'of which one must be a write of its own is two writes: %s ms, then %s ms',
    async (...times) => {
      // The first one fails.
      const failed = json({ errors: [{ message: '' }] }, 500);
      const { origin, mutations } = await start([failed, saved]);
      const click = (doubleClickMs: number) => {
        const intent = newIntent();
        return { intent, result: save(origin, { doubleClickMs }, withIntent(init(), intent)) };
      };
      const clicks = times.map(click);
      for (const { result } of clicks) expect(await result).toEqual(kept);
      expect(new Set(mutations.map(({ key }) => key))).toEqual(
        new Set(clicks.map(({ intent }) => intent)),
      );
    },
  );

  test('of an impatient user ends after the last click', async () => {
    const { origin, mutations } = await start([saved]);
    let now = performance.now();
    replace(realm.performance, 'now', () => now);
    for (let click = 0; click < 5; click += 1) {
      expect(await save(origin)).toEqual(kept);
      now += 400;
    }
    expect(mutations).toHaveLength(1);
    now += 400;
    await save(origin);
    expect(mutations).toHaveLength(2);
  });

  test('is over once the user has sent another write', async () => {
    const { origin, mutations } = await start([saved]);
    for (const name of ['Ada', 'Bob', 'Ada']) await save(origin, {}, init({ name }));
    expect(mutations.map(({ query }) => JSON.parse(query).variables.name)).toEqual([
      'Ada',
      'Bob',
      'Ada',
    ]);
  });

  test('with a header that the gateway may forward is another write; with one of a trace, it is not', async () => {
    const { origin, mutations } = await start([saved]);
    const send = (name: string, value: string) => {
      const { headers, ...request } = init();
      return save(origin, {}, { ...request, headers: { ...headers, [name]: value } });
    };
    await Promise.all([send('x-tenant', 'a'), send('x-tenant', 'b')]);
    expect(mutations).toHaveLength(2);
    await Promise.all([send('traceparent', 'a'), send('traceparent', 'b')]);
    expect(mutations).toHaveLength(3);
  });

  test('can be aborted on its own', async () => {
    const abort = new AbortController();
    const { origin } = await start([() => abort.abort(new Error('unmounted'))]);
    const intent = newIntent();
    const first = save(origin, {}, withIntent(init(), intent));
    const second = save(origin, {}, { ...init(), signal: abort.signal });
    await expect(second).rejects.toThrow('unmounted');
    cancel(intent);
    expect(await first).toMatchObject({ error: { code: 'IDEMPOTENCY_KEY_SETTLED' } });
  });

  test('hears why the write that it joined takes longer', async () => {
    const { origin } = await start([cut, saved]);
    const ledgerFetch = createLedgerFetch({ delayMs: 2 });
    const statesOfClick = () =>
      new Promise<unknown[]>((resolve) => {
        const states: unknown[] = [];
        const write = createWrite({
          url: origin,
          field: 'save',
          send: async (headers): Promise<AnyResult<Data>> =>
            (await ledgerFetch(origin, { ...init(), headers })).json(),
        });
        write.subscribe(() => {
          states.push(write.getState());
          if (write.getState().phase === 'done') resolve(states);
        });
        write.submit();
      });
    for (const states of await Promise.all([statesOfClick(), statesOfClick()])) {
      expect(states).toContainEqual({ phase: 'sending', wait: 'lost' });
    }
  });

  test('settles the write that it joined, also by its own intent', async () => {
    const { origin, mutations, settlings } = await start([saved], executed);
    const intent = newIntent();
    await save(origin);
    await save(origin, {}, withIntent(init(), intent));
    const result = await settle<Data>(intent, { url: origin });
    expect(readField(result, 'save')).toEqual(kept);
    expect(settlings).toEqual(mutations.map(({ key }) => key));
  });

  test('is over once the user has asked: the next click is a new decision', async () => {
    const { origin, mutations } = await start([saved]);
    const intent = newIntent();
    await save(origin, {}, withIntent(init(), intent));
    await settle<Data>(intent, { url: origin });
    await save(origin);
    expect(mutations).toHaveLength(2);
  });

  test('knows the intent to ask with if the first click is aborted', async () => {
    const abort = new AbortController();
    const { origin } = await start([() => abort.abort(new Error('unmounted'))]);
    const intent = newIntent();
    const request = withIntent(init(), intent);
    const first = save(origin, {}, { ...request, signal: abort.signal });
    const second = save(origin);
    await expect(first).rejects.toThrow('unmounted');
    expect(await second).toMatchObject({ kind: 'lost', intent });
  });
});

describe('an intent that has a request already', () => {
  test('is rejected with another one, and nothing is sent', async () => {
    const { origin, mutations, settlings } = await start([saved], executed);
    const intent = newIntent();
    const send = (name: string) => save(origin, {}, withIntent(init({ name }), intent));
    expect(await send('Ada')).toEqual(kept);
    expect(await send('Bob')).toMatchObject({ kind: 'error', error: { code: 'INTENT_REUSED' } });
    expect([mutations.length, settlings.length]).toEqual([1, 0]);
  });

  test('is lost with another one while the outcome of the first is not known', async () => {
    const { origin, mutations } = await start([never, cut], cut);
    const intent = newIntent();
    const send = (name: string) =>
      save(origin, { attemptMs: 50, patienceMs: 50 }, withIntent(init({ name }), intent));
    const first = send('Ada');
    const lost = { kind: 'lost', intent };
    expect(await send('Bob')).toMatchObject(lost);
    expect(await first).toMatchObject(lost);
    expect(await send('Bob')).toMatchObject(lost);
    expect(new Set(mutations.map(({ query }) => query)).size).toBe(1);
    // Settling ends it.
    const other = await start([saved], executed);
    await settle<Data>(intent, { url: other.origin });
    expect(await send('Bob')).toMatchObject({ error: { code: 'INTENT_REUSED' } });
  });

  test('can be sent again by another address of the gateway', async () => {
    const { origin, mutations } = await start([saved]);
    const request = withIntent(init(), newIntent());
    await save(origin, {}, request);
    expect(await save(`${origin}/other`, {}, request)).toEqual(kept);
    expect(mutations).toHaveLength(2);
  });

  test('is not forgotten while it is open', async () => {
    const { origin, settlings } = await start([cut], cut);
    const intent = newIntent();
    const ada = { token: () => tokenOf('ada'), patienceMs: 5, attemptMs: 5 };
    await save(origin, ada, withIntent(init(), intent));
    const { length } = settlings;
    const own = { fetch: async () => Response.json({ data: { save: {} } }) };
    for (let count = 0; count < 250; count += 1) await save(origin, own, init({ count }));
    await settle<Data>(intent, { url: origin, token: () => tokenOf('bob') });
    expect(settlings).toHaveLength(length);
  });

  test('may have another one if the first did nothing, for certain', async () => {
    const { origin, mutations } = await start([error('BAD_USER_INPUT'), saved]);
    const intent = newIntent();
    await save(origin, {}, withIntent(init({ name: '' }), intent));
    expect(await save(origin, {}, withIntent(init({ name: 'Ada' }), intent))).toEqual(kept);
    expect(mutations.map(({ key, headers }) => [key, Reflect.get(headers, AGE)])).toEqual([
      [intent, '0'],
      [intent, '0'],
    ]);
  });
});

test('the intent of another user is not asked about, and stays for its owner', async () => {
  const { origin, settlings } = await start([saved], executed);
  const intent = newIntent();
  await save(origin, { token: () => tokenOf('ada') }, withIntent(init(), intent));
  const ask = async (user: string) =>
    readField(await settle<Data>(intent, { url: origin, token: () => tokenOf(user) }), 'save');

  expect(await ask('bob')).toMatchObject({ kind: 'lost', intent, error: { reason: 'OTHER_USER' } });
  expect(settlings).toHaveLength(0);
  expect(await ask('ada')).toEqual(kept);
  const byHeader = { headers: { authorization: `Bearer ${tokenOf('bob')}` }, url: origin };
  expect(readField(await settle<Data>(intent, byHeader), 'save')).toMatchObject({ kind: 'lost' });
});

describe('after a lost attempt', () => {
  test.each([
    ['a refusal of the service', error('UPSTREAM_BAD_REQUEST')],
    ['an unavailable service', error('UPSTREAM_UNAVAILABLE')],
    ['a key that another request uses', error('IDEMPOTENCY_KEY_REUSED')],
    ['an invalid input', error('BAD_USER_INPUT')],
    ['a rejected document', error('OPERATION_LIMIT_EXCEEDED', { requestId: '7' }, [])],
  ])('%s does not hide the outcome', async (_, reply) => {
    const { origin, settlings } = await start([cut, reply], executed);
    expect(await save(origin)).toEqual(kept);
    expect(settlings).toHaveLength(1);
  });

  test('an error is the reason why nothing was done, once settling has said so', async () => {
    const { origin } = await start([cut, error('UPSTREAM_BAD_REQUEST')]);
    expect(await save(origin)).toMatchObject({
      kind: 'error',
      error: { code: 'UPSTREAM_BAD_REQUEST' },
    });
  });
});

describe('an error without a path, which may be that of a repeat of the browser,', () => {
  const codes = ['UNAUTHENTICATED', 'BAD_USER_INPUT', 'OPERATION_LIMIT_EXCEEDED'];
  const withoutPath = (code: string) => error(code, { requestId: '7' }, []);

  test.each(codes)('does not hide the outcome: %s', async (code) => {
    const { origin, mutations } = await start([withoutPath(code)], executed);
    expect(await save(origin)).toEqual(kept);
    expect(mutations).toHaveLength(1);
  });

  test.each(codes)('is the result once settling has confirmed it: %s', async (code) => {
    const { origin, mutations, settlings } = await start([withoutPath(code)]);
    expect(await save(origin)).toMatchObject({ kind: 'error', error: { code } });
    expect([mutations.length, settlings.length]).toEqual([1, 1]);
  });

  test('leaves it open if the token is rejected for settling, too', async () => {
    const rejected = withoutPath('UNAUTHENTICATED');
    const { origin, mutations, settlings } = await start([rejected], rejected);
    const intent = newIntent();
    const result = await save(origin, {}, withIntent(init(), intent));
    expect(result).toMatchObject({ kind: 'lost', intent });
    expect([mutations.length, settlings.length]).toEqual([1, 1]);
  });

  test('lets a large body be sent again with a renewed token', async () => {
    const { origin, mutations } = await start([withoutPath('UNAUTHENTICATED'), saved]);
    const token = (rejected?: string) => (rejected === undefined ? 'old' : 'new');
    expect(await save(origin, { token }, init({ csv: 'x'.repeat(300_000) }))).toEqual(kept);
    expect(mutations.map(({ headers }) => Reflect.get(headers, 'authorization'))).toEqual([
      'Bearer old',
      'Bearer new',
    ]);
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
  ['an error', error('INTERNAL_SERVER_ERROR', {})],
  ['a field without outcome and error', json({ data: { save: null } })],
])('%s of a router says nothing about a write', async (_, reply) => {
  const { origin, mutations, settlings } = await start([reply], executed);
  expect(await save(origin, { patienceMs: 30 })).toEqual(kept);
  expect(settlings).toHaveLength(1);
  expect(new Set(mutations.map(({ key }) => key)).size).toBe(1);
});

test('an error of the gateway, before anything was lost, needs no settling', async () => {
  const { origin, mutations, settlings } = await start([error('IDEMPOTENCY_UNAVAILABLE'), saved]);
  expect(await save(origin)).toMatchObject({ kind: 'error' });
  expect([mutations.length, settlings.length]).toEqual([1, 0]);
});

test('while records are not complete, a write that was not sent keeps its age of 0', async () => {
  const unavailable = error('IDEMPOTENCY_UNAVAILABLE', { requestId: '7', retryable: true });
  const { origin, mutations } = await start([unavailable, saved]);
  expect(await save(origin)).toEqual(kept);
  expect(mutations.map(({ headers }) => headers)).toMatchObject([
    { 'idempotency-key-age': '0' },
    { 'idempotency-key-age': '0' },
  ]);
});

test('a repeat whose token takes long has an age, for a copy of the first may still be on its way', async () => {
  const busy = error('UPSTREAM_BUSY', { requestId: '7', retryable: true });
  const { origin, mutations } = await start([busy, saved]);
  let now = performance.now();
  replace(realm.performance, 'now', () => now);
  const token = () => {
    if (mutations.length > 0) now += 40_000;
    return tokenOf('ada');
  };
  expect(await save(origin, { token, patienceMs: 60_000 })).toEqual(kept);
  const [first, repeat] = mutations.map(({ headers }) => Reflect.get(headers, AGE));
  expect(first).toBe('0');
  expect(Number(repeat)).toBeGreaterThan(0);
});

test('after one field was sent, a repeat has an age, and an error does not hide the outcome', async () => {
  const extensions = { code: 'IDEMPOTENCY_UNAVAILABLE', requestId: '7', retryable: true };
  const partial = json({
    data: { save: kept.member, restart: null },
    errors: [{ path: ['restart'], extensions }],
  });
  const { origin, mutations } = await start([partial, error('FORBIDDEN')], executed);
  expect(await save(origin)).toEqual(kept);
  const [first, repeat] = mutations.map(({ headers }) => Reflect.get(headers, AGE));
  expect(first).toBe('0');
  expect(Number(repeat)).toBeGreaterThan(0);
});

describe('cancel', () => {
  test.each([
    ['that it was executed', executed, kept],
    ['that it never will be', notExecuted, { error: { code: 'IDEMPOTENCY_KEY_SETTLED' } }],
  ])('settles, and the promise of the write tells %s', async (_, settling, result) => {
    const { origin, mutations } = await start([cut], settling);
    const intent = newIntent();
    const onProgress = () => void cancel(intent);
    const promise = save(
      origin,
      { delayMs: 60_000, patienceMs: 1e6, onProgress },
      withIntent(init(), intent),
    );
    expect(await promise).toMatchObject(result);
    expect(mutations).toHaveLength(1);
    expect(cancel(intent)).toBe(false);
  });

  test('stops a write that waits for its token: nothing is sent', async () => {
    const { origin, mutations } = await start([saved]);
    const intent = newIntent();
    const token = () => new Promise<string>(() => void setImmediate(cancel, intent));
    expect(await save(origin, { token }, withIntent(init(), intent))).toMatchObject({
      kind: 'error',
      error: { code: 'CANCELLED' },
    });
    expect(mutations).toHaveLength(0);
  });
});

describe('the device', () => {
  /** Returns what brings the connection back. */
  function goOffline(): () => void {
    const state = { onLine: false };
    const events = new EventTarget();
    replace(realm, 'navigator', state);
    replace(realm, 'addEventListener', events.addEventListener.bind(events));
    replace(realm, 'removeEventListener', events.removeEventListener.bind(events));
    return () => {
      state.onLine = true;
      events.dispatchEvent(new Event('online'));
    };
  }

  test('is offline: it says so at once, and continues when it is online', async () => {
    const { origin, mutations } = await start([saved]);
    const goOnline = goOffline();
    const states: [string, number][] = [];
    const result = await save(origin, {
      patienceMs: 60_000,
      onProgress({ state }) {
        states.push([state, mutations.length]);
        setImmediate(goOnline);
      },
    });
    expect(states).toEqual([['offline', 0]]);
    expect(result).toEqual(kept);
    expect(mutations[0]?.headers).toMatchObject({ 'idempotency-key-age': '0' });
  });

  test('stays offline, or the write is cancelled: nothing was sent', async () => {
    const { origin, mutations, settlings } = await start([saved]);
    goOffline();
    const token = () => Promise.reject(new Error('The issuer cannot be reached.'));
    expect(await save(origin, { patienceMs: 10, token })).toMatchObject({
      error: { code: 'OFFLINE' },
    });
    const intent = newIntent();
    const onProgress = () => void cancel(intent);
    expect(await save(origin, { onProgress }, withIntent(init({ a: 1 }), intent))).toMatchObject({
      error: { code: 'CANCELLED' },
    });
    expect([mutations, settlings]).toEqual([[], []]);
  });

  test('has no AbortSignal.any and no crypto', async () => {
    replace(realm.AbortSignal, 'any', undefined);
    replace(realm, 'crypto', undefined);
    const { origin } = await start([cut, saved]);
    const { signal } = new realm.AbortController();
    expect(await save(origin, {}, { ...init(), signal })).toEqual(kept);
  });

  test.each([
    ['a day ahead', 86_400_000],
    ['a day behind', -86_400_000],
  ])('has a clock that is %s: an age is a duration', async (_, aheadMs) => {
    const { now } = Date;
    replace(realm.Date, 'now', () => now() + aheadMs);
    const { origin, mutations } = await start([cut, saved]);
    expect(await save(origin)).toEqual(kept);
    const [, age] = mutations.map(({ headers }) => Number(Reflect.get(headers, AGE)));
    expect(age).toBeGreaterThanOrEqual(20_000);
    expect(age).toBeLessThan(80_000);
  });

  test('has a full storage: the page still knows its intents', async () => {
    const setItem = () => {
      throw new Error('QuotaExceededError');
    };
    replace(realm, 'sessionStorage', { getItem: () => null, setItem });
    const { origin } = await start([saved]);
    const intent = newIntent();
    expect(await save(origin, {}, withIntent(init(), intent))).toEqual(kept);
    expect(await save(origin, {}, withIntent(init({ a: 1 }), intent))).toMatchObject({
      error: { code: 'INTENT_REUSED' },
    });
  });

  test('has no AbortController: it says so when the fetch is created', () => {
    replace(realm, 'AbortController', undefined);
    expect(() => createLedgerFetch()).toThrow('createLedgerFetch needs AbortController.');
  });
});

describe('a query', () => {
  test.each<[string, RequestInit]>([
    ['by hash', { headers: { 'operation-type': 'query' }, body: '{"extensions":{}}' }],
    [
      'with the word mutation in its variables',
      { body: '{"query":"{ a }","variables":{"b":"mutation"}}' },
    ],
  ])('%s has no key', async (_, request) => {
    const { origin, mutations } = await start([saved]);
    await createLedgerFetch()(origin, { method: 'POST', ...request });
    expect(mutations).toHaveLength(1);
    expect(mutations[0]?.headers).not.toHaveProperty('idempotency-key');
    expect(mutations[0]?.headers).not.toHaveProperty('operation-type');
  });

  const query: RequestInit = { method: 'POST', body: '{"query":"{ codes }"}' };
  const unavailable: Reply = (response) => response.writeHead(503, { 'retry-after': '0' }).end();

  test.each([
    ['a cut', cut],
    ['a timeout', never],
    ['a 503', unavailable],
  ])('is sent again after %s, if the app asks for it', async (_, fault) => {
    const { origin, mutations } = await start([fault, saved]);
    const options = { timeoutMs: 500, retries: 1, delayMs: 2 };
    const response = await retryQueries(createLedgerFetch(), options)(origin, query);
    expect(await response.json()).toMatchObject({ data: {} });
    expect(mutations).toHaveLength(2);
  });

  test('is sent again with its body if it is a Request', async () => {
    const { origin, mutations } = await start([cut, saved]);
    const queryFetch = retryQueries(createLedgerFetch(), { retries: 1, delayMs: 2 });
    await queryFetch(new Request(origin, query));
    expect(mutations.map(({ query: body }) => body)).toEqual([query.body, query.body]);
  });

  test('that names its document by a hash has a key unless it says that it is a query', async () => {
    const { origin, mutations } = await start([saved]);
    const body = '{"documentId":"7","variables":{"query":"a"}}';
    await retryQueries(createLedgerFetch(), { retries: 1 })(origin, { method: 'POST', body });
    expect(mutations[0]?.headers).toHaveProperty('idempotency-key');
  });

  test('fails after its last attempt', async () => {
    const { origin, mutations } = await start([cut]);
    const queryFetch = retryQueries(createLedgerFetch(), { retries: 2, delayMs: 2 });
    await expect(queryFetch(origin, query)).rejects.toThrow();
    expect(mutations).toHaveLength(3);
  });
});

describe('readField', () => {
  const errors = [{ message: '', path: ['save'], extensions: { code: 'FORBIDDEN' } }];

  test.each([
    ['graphql-request throws', { error: { response: { errors, data: { other: kept } } } }],
    ['Apollo Client throws', { error: { errors } }],
    ['Relay throws', { error: { source: { errors } } }],
    ['urql returns', { error: { graphQLErrors: errors } }],
    ['a server responds', { errors }],
  ])('reads what %s', (_, result) => {
    expect(readField<Data, 'save'>(result, 'save')).toMatchObject({
      kind: 'error',
      error: { code: 'FORBIDDEN' },
    });
  });

  test('reads the outcomes that come with an error', () => {
    const error = { response: { errors, data: { other: { __typename: 'ApproversSaved' } } } };
    expect(readField<{ other: object }, 'other'>({ error }, 'other')).toEqual(kept);
  });

  test('has the intent of every result that is lost', () => {
    const aborted = { data: undefined };
    const intent = newIntent();
    expect(readField<Data, 'save'>(aborted, 'save', intent)).toMatchObject({
      kind: 'lost',
      intent,
    });
    expect(readField<Data, 'save'>(aborted, 'save')).toMatchObject({ kind: 'unknown' });
  });
});
