import { afterAll, expect, test } from '@jest/globals';
import { until } from '../../../testkit/eventually.ts';
import { createLedgerFetch, createWrite } from '../src/index.ts';
import { createTestGateway, type Situation, type TestGatewayOptions } from '../src/testing.ts';
import { times } from '../src/times.ts';
import { replace } from './stub-gateway.ts';

/** Where the package runs. */
declare const native: typeof globalThis;

// A test gateway shortens the times of the package, which other test files use, too.
const before = { ...times };
afterAll(() => void Object.assign(times, before));

type Saved = { readonly __typename: 'Saved' };
const url = 'http://localhost/graphql';
const saved: Saved = { __typename: 'Saved' };

const startGateway = (situation?: Situation, times?: TestGatewayOptions['times']) =>
  createTestGateway({ done: { save: saved, delete: { __typename: 'Deleted' } }, situation, times });

/** A button of an app, which is kept over several tests. */
function createButton(fetchOf: () => typeof fetch) {
  const options = { fetch: (...args: Parameters<typeof fetch>) => fetchOf()(...args) };
  const ledgerFetch = createLedgerFetch(options);
  return createWrite<'save', Saved>({
    ...{ ...options, field: 'save', url },
    async send(headers) {
      const body = JSON.stringify({ query: 'mutation { save { __typename } }' });
      return (await ledgerFetch(url, { method: 'POST', headers, body })).json();
    },
  });
}

test('a page shows each situation in turn, and begins anew with each gateway', async () => {
  let gateway = startGateway();
  const button = createButton(() => gateway.fetch);
  const click = async () => {
    button.submit();
    await until(() => !/sending|asking/.test(button.getState().phase));
    return button.getState();
  };
  expect(await click()).toEqual({ phase: 'done', member: saved });
  gateway.situation = 'refused';
  expect(await click()).toMatchObject({ phase: 'refused' });
  gateway.situation = 'failed';
  expect(await click()).toMatchObject({
    phase: 'failed',
    error: { code: 'UPSTREAM_BAD_REQUEST', message: 'UPSTREAM_BAD_REQUEST' },
  });
  gateway.situation = 'in-progress';
  expect(await click()).toMatchObject({ phase: 'unknown' });
  gateway = startGateway('lost');
  expect(button.getState()).toEqual({ phase: 'idle' });
  expect(await click()).toMatchObject({ phase: 'unknown', mayAsk: true });
});

test('the answer to the question for a write has the fields of that write, and all if it is not known', async () => {
  const gateway = startGateway();
  const ask = async (idempotencyKey = '') => {
    const body = JSON.stringify({ query: 'mutation { settleWrites }' });
    const headers = { 'idempotency-key': idempotencyKey };
    const response = await gateway.fetch(url, { method: 'POST', headers, body });
    const { data } = Object(await response.json());
    return data.settleWrites.writes.map(
      ({ responseName }: { responseName: string }) => responseName,
    );
  };
  await createLedgerFetch({ fetch: gateway.fetch })(url, {
    method: 'POST',
    body: JSON.stringify({ query: 'mutation { save { __typename } }' }),
  });
  const intent = gateway.arrivals[0]?.intent;
  expect(await ask(intent)).toEqual(['save']);
  expect(await ask(`${intent}-other`)).toEqual(['save', 'delete']);
});

test('a gateway removes what the package has stored in earlier tests, and keeps what the app has', async () => {
  const stored = new Map([['theme', 'dark']]);
  replace(native, 'sessionStorage', {
    get length() {
      return stored.size;
    },
    key: (index: number) => [...stored.keys()][index],
    setItem: (name: string, text: string) => void stored.set(name, text),
    removeItem: (name: string) => void stored.delete(name),
  });
  const gateway = startGateway();
  const button = createButton(() => gateway.fetch);
  button.submit();
  await until(() => button.getState().phase === 'done');
  expect(stored.size).toBeGreaterThan(1);
  startGateway();
  expect([...stored]).toEqual([['theme', 'dark']]);
});

test('a click is not the second one of a double click in an earlier test', async () => {
  replace(native, 'document', {}); // Only a page has clicks.
  let gateway = startGateway();
  const button = createButton(() => gateway.fetch);
  for (let count = 0; count < 2; count += 1) {
    gateway = startGateway('done', { doubleClickMs: 60_000 });
    button.submit();
    await until(() => button.getState().phase === 'done');
    expect(gateway.arrivals).toHaveLength(1);
  }
});

test('the page hears that the device is offline and online again, and then goes on', async () => {
  const events = new native.EventTarget();
  const heard: string[] = [];
  for (const type of ['offline', 'online']) {
    events.addEventListener(type, () => void heard.push(type));
  }
  for (const name of ['addEventListener', 'removeEventListener', 'dispatchEvent'] as const) {
    replace(native, name, events[name].bind(events));
  }
  startGateway();
  const gateway = startGateway('offline', { patienceMs: 20_000 });
  const button = createButton(() => gateway.fetch);
  button.submit();
  await until(() => Object(button.getState()).wait === 'offline');
  gateway.situation = 'done';
  await until(() => button.getState().phase === 'done');
  expect(heard).toEqual(['offline', 'online']);
});

test('a token that cannot be obtained while the device is offline ends the write as in a browser, and no query is asked', async () => {
  const queries = () => Promise.reject(new Error('There is no query.'));
  const gateway = createTestGateway({ done: { save: saved }, situation: 'offline', queries });
  const token = () => Promise.reject(new Error('There is no connection.'));
  const ledgerFetch = createLedgerFetch({ token, fetch: gateway.fetch });
  const response = await ledgerFetch(url, {
    method: 'POST',
    body: '{"query":"mutation { save }"}',
  });
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'OFFLINE' } }] });
  gateway.situation = 'done';
});
