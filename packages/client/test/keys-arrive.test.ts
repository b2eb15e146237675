import { describe, expect, test } from '@jest/globals';
import { until } from '../../../testkit/eventually.ts';
import {
  cancel,
  createLedgerFetch,
  newIntent,
  readField,
  settle,
  withIntent,
} from '../src/index.ts';
import type { Progress } from '../src/intent.ts';
import { arriving, PROBE } from '../src/known-intent.ts';
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
  notExecuted,
  type Reply,
  requestError,
  save,
  saved,
  settled,
  startStubGateway,
  tokenOf,
} from './stub-gateway.ts';

/** Starts a gateway of which this page does not know yet whether keys arrive there. */
async function start(replies: Reply[], settling?: Reply, probing: Reply = notExecuted) {
  const gateway = await startStubGateway(replies, settling);
  gateway.script.probing = probing;
  arriving.delete(gateway.origin);
  return gateway;
}

const query = 'mutation { save { __typename } }';
const notArrived = settled([], true, false);
const unknown = { kind: 'unknown', error: { code: 'KEY_NOT_CONFIRMED' } };
const soon = { patienceMs: 30, attemptMs: 500 };

test('before its first write to an address, a page asks once whether keys arrive', async () => {
  const { origin, requests, probes } = await start([saved]);
  const order: number[] = [];
  const fetchOf = createSave(origin, {
    fetch(...request) {
      order.push(probes.length);
      return fetch(...request);
    },
  });
  expect(await fetchOf(init({}, { 'x-tenant': 'north' }))).toEqual(kept);
  expect(await fetchOf(init({ name: 'Bob' }))).toEqual(kept);
  expect(order).toEqual([0, 1, 1]);
  // As the write: with the headers of the app, and the key in the header and in the body.
  const [probe, ...others] = probes;
  expect(others).toEqual([]);
  expect(probe?.headers).toMatchObject({ authorization: 'Bearer token', 'x-tenant': 'north' });
  expect(probe?.headers['idempotency-key']).toBe(PROBE);
  expect(JSON.parse(probe?.body ?? '')).toMatchObject({
    variables: { idempotencyKey: PROBE },
    extensions: { idempotencyKey: PROBE },
  });
  expect(requests).toHaveLength(2);
});

/** A refusal that says that nothing was sent. */
const busy = fieldError('UPSTREAM_BUSY', { retryable: true });
const renewed = (rejected?: string) => (rejected ? 'new' : 'old');
/** The service has executed one field, and has rejected the token of the next one. */
const partly = json({
  data: { save: { __typename: 'ApproversSaved' }, next: null },
  errors: [{ path: ['next'], extensions: { code: 'UNAUTHENTICATED', requestId: '7' } }],
});

describe('after a request that may have been executed, the page asks again directly before each repeat', () => {
  test.each<[string, Reply[], string[]]>([
    ['two responses are lost', [cut, cut, saved], ['write', 'probe', 'write', 'probe', 'write']],
    ['a refusal follows', [cut, busy, saved], ['write', 'probe', 'write', 'probe', 'write']],
    ['a token is rejected in part', [partly, saved], ['write', 'probe', 'write']],
    ['nothing was sent', [busy, busy, saved], ['write', 'write', 'write']],
  ])('%s', async (_, replies, expected) => {
    const { origin } = await startStubGateway(replies);
    const order: string[] = [];
    const result = await save(origin, {
      token: renewed,
      onProgress: ({ state }) => order.push(state),
      fetch(...request) {
        order.push(`${request[1]?.body}`.includes(PROBE) ? 'probe' : 'write');
        return fetch(...request);
      },
    });
    expect(result).toEqual(kept);
    expect(order.filter((event) => /probe|write/.test(event))).toEqual(expected);
    // The wait is before the question, so that no time passes between the question and the repeat.
    expect(order.join()).not.toMatch(/probe,(lost|not-sent)/);
  });

  test.each<[string, Reply[], object]>([
    ['a response is lost', [cut, saved], unknown],
    ['a refusal follows', [cut, busy, saved], unknown],
    ['a token is rejected in part', [partly, saved], kept],
  ])('it is not repeated if keys do not arrive any more: %s', async (_, replies, expected) => {
    const { origin, script, kinds } = await startStubGateway(replies, notArrived);
    const count = replies.length - 1;
    const result = await save(origin, {
      ...{ ...soon, patienceMs: 2_000, token: renewed },
      onProgress() {
        if (kinds().length === count) script.probing = notArrived;
      },
      fetch(...request) {
        if (replies.includes(partly)) script.probing = notArrived;
        return fetch(...request);
      },
    });
    expect(result).toMatchObject(expected);
    expect(kinds().filter((kind) => kind === 'mutation')).toHaveLength(count);
  });

  test('an app that sends an intent again repeats it as well', async () => {
    const { origin, script, kinds } = await startStubGateway([cut, saved], cut);
    const request = withIntent(init(), newIntent());
    expect(await save(origin, { ...soon, patienceMs: 0 }, request)).toMatchObject({ kind: 'lost' });
    arriving.add(origin);
    script.probing = script.settling = notArrived;
    expect(await save(origin, soon, request)).toMatchObject(unknown);
    expect(kinds().filter((kind) => kind === 'mutation')).toHaveLength(1);
  });

  test('without a response to the question, the page hears that it is offline, and what was seen before still counts', async () => {
    const { origin, script, kinds } = await startStubGateway([cut, saved]);
    const states: string[] = [];
    const result = await save(origin, {
      ...{ delayMs: 2, patienceMs: 200 },
      onProgress({ state }) {
        states.push(state);
        script.probing = cut;
      },
    });
    expect(result).toEqual(errorOf('IDEMPOTENCY_KEY_SETTLED'));
    expect([...new Set(states)]).toEqual(['lost', 'offline', 'settling']);
    expect(kinds()).toEqual(['mutation', 'settle']);
  });
});

const redacted = { errors: [{ message: 'Subgraph errors redacted' }], data: null };
const routerError = (code: string) => json({ errors: [{ message: '', extensions: { code } }] });

describe('a write whose key is not seen to arrive', () => {
  test.each<[string, Reply]>([
    ['the gateway says so', notArrived],
    ['the gateway is older than the question', settled([], true, null)],
    ['the gateway rejects the token', requestError('UNAUTHENTICATED', {}, 401)],
    [
      'a router does not know the question',
      json({ errors: [{ message: '', extensions: { code: 'GRAPHQL_VALIDATION_FAILED' } }] }),
    ],
    ['a proxy rejects the question', html(403)],
    ['a router hides the error', json(redacted)],
    ['a router hides that it has no data', json({ data: { settleWrites: null } })],
    ['a router has another code', routerError('PERSISTED_DOCUMENT_REQUIRED')],
    ['a fault is masked', routerError('INTERNAL_SERVER_ERROR')],
    ['a router is of an older schema', json({ errors: [{ message: 'Cannot query field' }] })],
  ])('is sent once: %s', async (_, probing) => {
    const { origin, kinds } = await start([cut, saved], settled([], true, false), probing);
    expect(await save(origin, soon)).toMatchObject(unknown);
    expect(kinds()).toEqual(['mutation', 'settle']);
  });

  test('has its outcome if the gateway knows one', async () => {
    const { origin } = await start([cut], executed, notArrived);
    expect(await save(origin, soon)).toEqual(kept);
  });

  test('is sent again after a refusal that says that nothing was sent', async () => {
    const { origin, kinds } = await start([busy, saved], undefined, notArrived);
    expect(await save(origin)).toEqual(kept);
    expect(kinds()).toEqual(['mutation', 'mutation']);
  });

  test('is sent at once if a router hides each error', async () => {
    const { origin, probes } = await start([saved], undefined, json(redacted));
    const states: string[] = [];
    const onProgress = ({ state }: Progress) => states.push(state);
    expect(await save(origin, { onProgress })).toEqual(kept);
    expect([probes.length, states]).toEqual([1, []]);
  });

  test('can be asked about, or checked in the ledger, if a router hides each error', async () => {
    const { origin, kinds } = await start([json(redacted)], json(redacted), json(redacted));
    expect(await save(origin, soon)).toMatchObject({
      kind: 'lost',
      error: { code: 'RESPONSE_LOST', reason: 'KEY_NOT_CONFIRMED' },
    });
    expect(kinds().filter((kind) => kind === 'mutation')).toHaveLength(1);
  });

  const why = /^This may have been carried out\. Nobody can tell, because /;
  test.each<[string, Reply, Reply, string]>([
    ['is lost', notArrived, notArrived, 'must forward the request header Idempotency-Key'],
    ['is not known', settled([], true, null), settled([], true, null), 'did not say whether'],
    ['was not seen in time', notArrived, notExecuted, 'before it was sent'],
  ])('has a message that says what to do if the key %s', async (...row) => {
    const [, probing, settling, words] = row;
    const { origin } = await start([cut], settling, probing);
    const { error } = await save(origin, soon);
    expect(error?.message).toMatch(why);
    expect(error?.message).toContain(words);
  });

  test('is not sent again by the app either', async () => {
    const { origin, kinds } = await start([cut, saved], notArrived, notArrived);
    const request = withIntent(init(), newIntent());
    for (let count = 0; count < 2; count += 1) {
      expect(await save(origin, soon, request)).toMatchObject(unknown);
    }
    expect(kinds()).toEqual(['mutation', 'settle', 'settle']);
  });

  test('is not sent again once keys arrive, for the first one may have been executed without its key', async () => {
    const { origin, script, kinds } = await start([cut, saved], notArrived, notArrived);
    const request = withIntent(init(), newIntent());
    await save(origin, soon, request);
    script.probing = script.settling = notExecuted;
    expect(await save(origin, soon, request)).toMatchObject(unknown);
    expect(kinds()).toEqual(['mutation', 'settle', 'settle']);
  });

  test('is not sent after it was settled, such as by a page that cancels it', async () => {
    const { origin, kinds } = await start([saved], notArrived, notArrived);
    const intent = newIntent();
    await settle(intent, { url: origin, ...soon });
    expect(await save(origin, soon, withIntent(init(), intent))).toMatchObject(unknown);
    expect(kinds()).toEqual(['settle', 'settle']);
  });

  test('is sent with a key of the app that this page has not seen before', async () => {
    const { origin, keys } = await start([saved], undefined, notArrived);
    expect(await save(origin, soon, withIntent(init(), 'order-7'))).toEqual(kept);
    expect(keys()).toEqual(['order-7']);
  });
});

test('that nothing was done is believed only if the key arrives also for settling, and the next write asks again', async () => {
  const { origin, script, probes } = await start([cut], notArrived);
  expect(await save(origin, { ...soon, patienceMs: 0 })).toMatchObject(unknown);
  script.settling = notExecuted;
  const result = await save(origin, { ...soon, patienceMs: 0 }, init({ name: 'Bob' }));
  expect(result).toEqual(errorOf('IDEMPOTENCY_KEY_SETTLED'));
  expect(probes).toHaveLength(2);
});

test('of an intent that this page has not sent, nobody can say that nothing was done', async () => {
  const { origin } = await start([], notExecuted);
  const intent = newIntent().replace(/^(.*)-[^-]+$/, '$1-another');
  const result = readField(await settle<Data>(intent, { url: origin }), 'save');
  expect(result).toMatchObject(unknown);
  // One that was created here, and not sent, was certainly not executed.
  const own = readField(await settle<Data>(newIntent(), { url: origin }), 'save');
  expect(own).toEqual(errorOf('IDEMPOTENCY_KEY_SETTLED'));
});

describe('while the question is not answered', () => {
  test('nothing is sent, the page hears why, and the write continues once it is', async () => {
    const { origin, script, requests } = await start([saved], undefined, cut);
    const states: [string, number][] = [];
    const result = await save(origin, {
      patienceMs: 20_000,
      onProgress({ state }) {
        states.push([state, requests.length]);
        script.probing = notExecuted;
      },
    });
    expect(result).toEqual(kept);
    expect(states).toEqual([['offline', 0]]);
  });

  test.each<[string, Reply, string, string]>([
    ['no connection', cut, 'OFFLINE', 'offline'],
    ['a proxy without a gateway', html(502), 'HTTP_502', 'not-sent'],
    ['a page to sign in to a network', html(200), 'HTTP_200', 'not-sent'],
  ])('nothing is sent, and in the end the write has failed: %s', async (...row) => {
    const [, probing, code, state] = row;
    const { origin, requests } = await start([saved], undefined, probing);
    const states = new Set<string>();
    const onProgress = (progress: Progress) => states.add(progress.state);
    expect(await save(origin, { patienceMs: 20, onProgress })).toEqual(errorOf(code));
    expect([requests, [...states]]).toEqual([[], [state]]);
  });

  test('a write that may have been sent before stays open', async () => {
    const { origin, script } = await start([cut], cut);
    const request = withIntent(init(), newIntent());
    await save(origin, soon, request);
    script.probing = cut;
    expect(await save(origin, soon, request)).toMatchObject({ kind: 'lost' });
  });

  test('it can be cancelled, and nothing was sent', async () => {
    const { reply, release } = hold(notExecuted);
    const { origin, requests, probes } = await start([saved], undefined, reply);
    const intent = newIntent();
    const result = save(origin, {}, withIntent(init(), intent));
    await until(() => probes.length === 1);
    expect(cancel(intent)).toBe(true);
    expect(await result).toEqual(errorOf('CANCELLED'));
    release();
    expect(requests).toEqual([]);
  });

  test('another user may sign in: then nothing is sent', async () => {
    const { origin, requests, probes } = await start([saved]);
    const token = () => tokenOf(probes.length > 0 ? 'bob' : 'ada');
    expect(await save(origin, { token })).toEqual(errorOf('OTHER_USER'));
    expect(requests).toEqual([]);
  });
});

describe('the body of a write', () => {
  test.each<[string, string, object]>([
    ['of a client', JSON.stringify({ query, variables: { a: 1 } }), {}],
    [
      'of another serializer',
      `\n{ "query" : "${query}", "variables": {"id": 9007199254740993} }`,
      {},
    ],
    ['with extensions', JSON.stringify({ extensions: { a: 1 }, query }), { a: 1 }],
    [
      'with the hash of its document',
      '{"extensions":{"persistedQuery":{"sha256Hash":"7"}}}',
      { persistedQuery: { sha256Hash: '7' } },
    ],
    ['with no extensions', JSON.stringify({ query, extensions: null }), {}],
    ['with a dollar sign', JSON.stringify({ query, variables: { a: '$& { $1' } }), {}],
  ])('%s gets the key and its age, and nothing else is changed', async (_, body, extensions) => {
    const { origin, requests, probes } = await start([cut, saved]);
    await save(origin, {}, { ...init(), body });
    expect(probes).toHaveLength(2);
    const ages = requests.map((request) => {
      const sent = JSON.parse(request.body);
      const { idempotencyKey, idempotencyKeyAge, ...others } = sent.extensions;
      expect(idempotencyKey).toBe(request.headers['idempotency-key']);
      expect(`${idempotencyKeyAge}`).toBe(request.headers['idempotency-key-age']);
      expect(others).toEqual(extensions);
      expect({ ...sent, extensions: null }).toEqual({ ...JSON.parse(body), extensions: null });
      return idempotencyKeyAge;
    });
    expect(ages).toEqual([0, expect.any(Number)]);
    // The number has not been rounded.
    if (body.includes('9007199254740993')) expect(requests[0]?.body).toContain('9007199254740993');
  });

  const form = new FormData();
  form.set('operations', JSON.stringify({ query }));
  const bodies: [string, () => RequestInit['body']][] = [
    ['a form', () => form],
    ['bytes', () => new TextEncoder().encode(JSON.stringify({ query }))],
    ['a stream', () => new Blob([JSON.stringify({ query })]).stream()],
    ['a file', () => new Blob([JSON.stringify({ query })])],
    ['a text that begins with a byte order mark', () => `\uFEFF${JSON.stringify({ query })}`],
    ['a list of operations', () => JSON.stringify([{ query }])],
    ['no JSON', () => 'mutation'],
    ['with extensions and a long number', () => '{"extensions":{},"a":9007199254740993}'],
  ];
  test.each(bodies)(
    'that cannot carry the key is sent once, with the header alone: %s',
    async (_, body) => {
      const { origin, requests, kinds } = await start([cut], notExecuted);
      const request = { ...init(), body: body(), duplex: 'half' } as RequestInit;
      expect(await save(origin, soon, request)).toMatchObject(unknown);
      expect(kinds()).toEqual(['mutation', 'settle']);
      expect(requests[0]?.headers).toHaveProperty('idempotency-key');
      expect(requests[0]?.body).not.toContain('idempotencyKey');
    },
  );
});

test('a key of the app in the body alone is the key of the write', async () => {
  const { origin, requests, keys } = await start([cut, saved]);
  const body = JSON.stringify({ query, extensions: { idempotencyKey: 'order-8' } });
  expect(await save(origin, {}, { ...init(), body })).toEqual(kept);
  expect(keys()).toEqual(['order-8', 'order-8']);
  for (const request of requests) {
    expect(JSON.parse(request.body).extensions.idempotencyKey).toBe('order-8');
  }
});

test('a query asks nothing', async () => {
  const { origin, probes } = await start([saved]);
  await createLedgerFetch()(origin, { method: 'POST', body: '{"query":"{ codes }"}' });
  expect(probes).toEqual([]);
});
