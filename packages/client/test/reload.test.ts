import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, test } from '@jest/globals';
import { newIntent } from '../src/index.ts';
import { hash } from '../src/token.ts';
import type { NewPage } from './new-page.ts';
import {
  cut,
  errorOf,
  executed,
  init,
  kept,
  notExecuted,
  type Reply,
  saved,
  settled,
  startStubGateway,
  tokenOf,
} from './stub-gateway.ts';

const token = tokenOf('ada');

/** The worker that loads all pages, one after the other. It ends if a page fails, and the next page starts another one. */
let worker: Worker | undefined;
afterAll(() => worker?.terminate());

/** Loads the package in a new page, and returns what it shows in the end, and what its storage holds then. */
async function load(page: Partial<NewPage> & { url: string }) {
  // Without NODE_COMPILE_CACHE, which would keep the modules of each page.
  worker ??= new Worker(new URL('new-page.ts', import.meta.url), { env: {} }).once('exit', () => {
    worker = undefined;
  });
  worker.postMessage({ token, ...page } satisfies NewPage);
  // It rejects if the page fails.
  const [{ result, stored }] = await once(worker, 'message');
  return { result, stored };
}

const INTENTS = 'ledger-gateway:intents';
const user = hash(JSON.stringify(['issuer', 'ada']));
/** An intent that was created so long ago. */
const createdAgo = (ms: number) => newIntent().replace(/^[^-]+/, (Date.now() - ms).toString(36));
const byAda = init({}, { authorization: `Bearer ${token}` });

/** Sends a write in one page, and returns its intent and what the storage of the tab holds then. */
async function leave() {
  const { origin } = await startStubGateway([saved]);
  const intent = newIntent();
  const { result, stored } = await load({
    url: origin,
    items: {},
    resume: { intent, init: byAda },
  });
  expect(result).toEqual(kept);
  return { intent, items: stored };
}

test('after a reload, an intent is still that of its request', async () => {
  const { intent, items } = await leave();
  const { origin, kinds, ages } = await startStubGateway([saved]);
  const send = async (init: RequestInit) =>
    (await load({ url: origin, items, resume: { intent, init } })).result;
  const { headers = {} } = byAda;
  expect(await send({ ...init({ name: 'Bob' }), headers })).toEqual(errorOf('INTENT_REUSED'));
  expect(kinds()).toEqual([]);
  expect(await send(byAda)).toEqual(kept);
  expect(Number(ages()[0])).toBeGreaterThan(0);
});

test('after a reload, an intent is still that of its user', async () => {
  const { intent, items } = await leave();
  const { origin, kinds } = await startStubGateway([saved]);
  const { result } = await load({
    url: origin,
    token: tokenOf('bob'),
    items,
    resume: { intent, init: init() },
  });
  expect(result).toMatchObject({ kind: 'lost', error: { reason: 'OTHER_USER' } });
  expect(kinds()).toEqual([]);
});

test('a page keeps the intents that another page of the tab has stored since, such as before a step back', async () => {
  const { intent, items } = await leave();
  const { origin, kinds, keys } = await startStubGateway([saved]);
  const own = newIntent();
  const resume = { intent: own, init: byAda };
  const { stored } = await load({ url: origin, items: {}, later: items, resume });
  expect(keys()).toEqual([own]);
  // As the page that is loaded next.
  const page = { url: origin, items: stored, resume: { intent, init: init() } };
  const { result } = await load({ ...page, token: tokenOf('bob') });
  expect(result).toMatchObject({ kind: 'lost', error: { reason: 'OTHER_USER' } });
  expect(kinds()).toEqual(['mutation']);
});

test('a page knows at once the user of an intent that another page of the tab has stored since', async () => {
  const { intent, items } = await leave();
  const { origin, kinds } = await startStubGateway([saved]);
  const page = { url: origin, items: {}, later: items, resume: { intent, init: init() } };
  const { result } = await load({ ...page, token: tokenOf('bob') });
  expect(result).toMatchObject({ kind: 'lost', error: { reason: 'OTHER_USER' } });
  expect(kinds()).toEqual([]);
});

const entry = (intent: string, known: object) => JSON.stringify([[intent, known]]);

/** What `ledger-gateway:intents` may hold, whoever has written it, for an intent. */
const contents: [name: string, textOf: (intent: string) => string][] = [
  ['nothing', () => ''],
  ['no JSON', () => '[["'],
  ['null', () => 'null'],
  ['a number', () => '5'],
  ['a text', () => '"text"'],
  ['an object', () => '{}'],
  ['a list of null', () => '[null]'],
  ['a list of a text', () => '["text"]'],
  ['an empty entry', () => '[[]]'],
  ['an entry of null', (intent) => `[["${intent}",null]]`],
  ['an entry of a text', (intent) => `[["${intent}","text"]]`],
  ['an entry without properties', (intent) => entry(intent, {})],
  ['an entry whose intent is a number', () => `[[5,{"user":"${user}","sentAs":"5"}]]`],
  ['an entry without a user', (intent) => entry(intent, { isOpen: false, sentAs: intent })],
  ['a user of null', (intent) => entry(intent, { user: null, isOpen: false, sentAs: intent })],
  ['a user that is a number', (intent) => entry(intent, { user: 5, sentAs: intent })],
  ['a number for the intent that was sent', (intent) => entry(intent, { user, sentAs: 5 })],
  ['a request of null', (intent) => entry(intent, { user, request: null, sentAs: intent })],
  ['a request that is a number', (intent) => entry(intent, { user, request: 5, sentAs: intent })],
];

describe('what was seen of keys', () => {
  /** Sends a write whose response is lost, in a page that is then left. Returns what the next page is told. */
  async function leaveAndAsk(probing: Reply, settling: Reply) {
    const { origin, script, kinds, keys } = await startStubGateway([cut], cut);
    script.probing = probing;
    const intent = newIntent();
    const resume = { intent, init: byAda };
    const page = { url: origin, resume };
    const { result, stored } = await load({ ...page, items: {} });
    expect(result).toMatchObject({ kind: 'lost' });
    Object.assign(script, { replies: [saved], settling, probing: notExecuted });
    const { length } = kinds();
    const next = await load({ ...page, items: stored });
    expect(new Set(keys())).toEqual(new Set([intent]));
    return { result: next.result, kinds: kinds().slice(length) };
  }

  test('is kept with the intent over a reload: it is sent again only if they arrived', async () => {
    const arrived = await leaveAndAsk(notExecuted, executed);
    expect(arrived).toEqual({ result: kept, kinds: ['mutation'] });
    const lost = await leaveAndAsk(settled([], true, false), notExecuted);
    expect(lost).toMatchObject({ result: { kind: 'unknown' }, kinds: ['settle'] });
  });

  test.each([
    ['that it was sent', { user, request: '1.2', isOpen: true }],
    ['that its outcome is not known', { user, isOpen: true }],
    ['that it was not sent', { user, isOpen: false }],
  ])(
    'is not known of an intent of version 1.0, which has stored %s: it is only asked about',
    async (_, known) => {
      for (const [settling, kind] of [
        [executed, 'member'],
        [notExecuted, 'unknown'],
      ] as const) {
        const { origin, kinds } = await startStubGateway([saved], settling);
        const intent = newIntent();
        const items = {
          [INTENTS]: JSON.stringify([[intent, { ...known, sentAs: intent }]]),
          [`ledger-gateway:write:save ${origin}`]: JSON.stringify({ [intent]: user }),
        };
        const phase = kind === 'member' ? 'done' : 'unknown';
        expect((await load({ url: origin, items })).result).toMatchObject({ phase });
        expect(kinds()).toEqual(['settle']);
      }
    },
  );
});

describe('with any content of the storage', () => {
  test.each(contents)(
    'a page loads, and what it sends again may be an old one: %s',
    async (...row) => {
      const intent = newIntent();
      const { origin, ages } = await startStubGateway([saved]);
      const items = { [INTENTS]: row[1](intent) };
      const { result } = await load({ url: origin, items, resume: { intent, init: byAda } });
      expect(result).toEqual(kept);
      expect(Number(ages()[0])).toBeGreaterThan(0);
    },
  );

  test.each(contents)(
    'a page asks about an open write, and does not repeat it: %s',
    async (...row) => {
      const intent = newIntent();
      const { origin, kinds, keys } = await startStubGateway([saved], executed);
      const name = `ledger-gateway:write:save ${origin}`;
      const items = { [INTENTS]: row[1](intent), [name]: JSON.stringify({ [intent]: user }) };
      const { result, stored } = await load({ url: origin, items });
      expect(result).toMatchObject({ phase: 'done' });
      expect([kinds(), keys()]).toEqual([['settle'], [intent]]);
      expect(stored).not.toHaveProperty([name]);
    },
  );

  test.each([
    ...['', '[["', 'null', '5', '"text"', '[]', '[null]', '[[5]]', '{}', '{"":null}', '{"5":5}'],
    JSON.stringify({ 'no intent': user }),
  ])('a page without an open write shows an idle button: %s', async (text) => {
    const { origin, kinds } = await startStubGateway([saved]);
    const items = { [`ledger-gateway:write:save ${origin}`]: text };
    const { result } = await load({ url: origin, items });
    expect(result).toEqual({ phase: 'idle' });
    expect(kinds()).toEqual([]);
  });

  test.each(['null', '5', '{}'])('an open write whose user is %s is asked about', async (owner) => {
    const intent = newIntent();
    const { origin, kinds, keys } = await startStubGateway([saved], executed);
    const items = { [`ledger-gateway:write:save ${origin}`]: `{"${intent}":${owner}}` };
    expect((await load({ url: origin, items })).result).toMatchObject({ phase: 'done' });
    expect([kinds(), keys()]).toEqual([['settle'], [intent]]);
  });

  test('such a write is not told to another user, as far as the page knows', async () => {
    const { intent, items } = await leave();
    const { origin, kinds } = await startStubGateway([saved], executed);
    const name = `ledger-gateway:write:save ${origin}`;
    const page = { url: origin, items: { ...items, [name]: `{"${intent}":null}` } };
    const { result, stored } = await load({ ...page, token: tokenOf('bob') });
    expect(result).toEqual({ phase: 'idle' });
    expect(kinds()).toEqual([]);
    expect(stored).toHaveProperty([name]);
    expect((await load(page)).result).toMatchObject({ phase: 'done' });
  });

  test('a page loads and sends although each access to the storage fails', async () => {
    const intent = newIntent();
    const { origin, ages } = await startStubGateway([saved]);
    const { result } = await load({ url: origin, resume: { intent, init: byAda } });
    expect(result).toEqual(kept);
    expect(Number(ages()[0])).toBeGreaterThan(0);
    expect((await load({ url: origin })).result).toEqual({ phase: 'idle' });
  });
});

/** The largest age that the gateway accepts: with it, nothing is executed that has no record. */
const LARGEST_AGE_MS = 31_536_000_000;

describe('the age of a write that is resumed', () => {
  test.each([
    ['is that of its intent', 0, 3_600_000],
    ['includes how far the clock was set forward since', 60_000, 3_660_000],
    ['is not known after the clock was set back before it', -3_660_000, LARGEST_AGE_MS],
  ])('%s', async (_, aheadMs, leastMs) => {
    const intent = createdAgo(3_600_000);
    const { origin, ages } = await startStubGateway([saved]);
    const page = { url: origin, items: {}, aheadMs, resume: { intent, init: byAda } };
    expect((await load(page)).result).toEqual(kept);
    const age = Number(ages()[0]);
    expect(age).toBeGreaterThanOrEqual(leastMs);
    expect(age).toBeLessThanOrEqual(Math.min(leastMs + 60_000, LARGEST_AGE_MS));
  });

  test('is not known for settling either, so that it does not say what was not done', async () => {
    const intent = newIntent();
    const { origin, requests } = await startStubGateway([saved], settled([], false));
    const items = { [`ledger-gateway:write:save ${origin}`]: JSON.stringify({ [intent]: user }) };
    const { result } = await load({ url: origin, items, aheadMs: -60_000 });
    expect(result).toMatchObject({ phase: 'unknown', mayDismiss: true });
    const ages = requests.map(({ body }) => JSON.parse(body).variables.ageMs);
    expect(ages).toEqual([LARGEST_AGE_MS]);
  });

  test('is not known for a key of another shape', async () => {
    const { origin, requests, ages } = await startStubGateway([saved]);
    const resume = { intent: 'a-key-of-the-app', init: byAda };
    await load({ url: origin, items: {}, resume });
    expect(requests).toHaveLength(1);
    expect(ages()).toEqual([undefined]);
  });
});
