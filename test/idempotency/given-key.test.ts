import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { agedStore } from '../../testkit/aged-store.ts';
import type { startTestGateway } from '../../testkit/gateway.ts';
import { read, write } from '../../testkit/graphql-operation.ts';
import { success } from '../../testkit/service.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';
import { startStack } from '../support/stack.ts';

type Gateway = Awaited<ReturnType<typeof startTestGateway>>;

/** Posts a document with these extensions of the body and these headers. */
async function send(gateway: Gateway, query: string, extensions: unknown, headers = {}) {
  const { text, ...response } = await gateway.post({ query, extensions }, headers);
  return {
    ...JSON.parse(text),
    isReplayed: response.headers.get('idempotent-replayed') === 'true',
  };
}

const header = { 'idempotency-key': 'intent-1', 'idempotency-key-age': '0' };
const inBody = { idempotencyKey: 'intent-1', idempotencyKeyAge: 0 };
const rejected = { errors: [{ path: ['result'], extensions: { code: 'BAD_USER_INPUT' } }] };

test('a key in the body, in the header or in both is the same key', async () => {
  const { service, gateway } = await startStack(success);
  const sendings: [unknown, object][] = [
    [inBody, {}],
    [inBody, header],
    [undefined, header],
    [{ ...inBody, idempotencyKeyAge: null }, { 'idempotency-key-age': '0' }],
    [{ other: 1, ...inBody }, { 'idempotency-key': '"intent-1"' }],
  ];
  const replays: boolean[] = [];
  for (const sending of sendings) {
    const { isReplayed, errors } = await send(gateway, write, ...sending);
    expect(errors).toBeUndefined();
    replays.push(isReplayed);
  }
  expect(replays).toEqual([false, true, true, true, true]);
  expect(service.received).toHaveLength(1);
});

test.each<[string, unknown, object]>([
  ['another key in the header', inBody, { 'idempotency-key': 'of-a-proxy' }],
  ['another age in the header', inBody, { ...header, 'idempotency-key-age': '1000' }],
  ['a key that is a number', { idempotencyKey: 5 }, {}],
  ['an empty key', { idempotencyKey: '' }, {}],
  ['an age that is no integer', { ...inBody, idempotencyKeyAge: 0.5 }, {}],
  ['an age that is too large for a double', '{"idempotencyKeyAge":9007199254740993}', header],
])('with %s, nothing is sent', async (_, extensions, headers) => {
  const { service, gateway } = await startStack(success);
  const given = typeof extensions === 'string' ? extensions : JSON.stringify(extensions);
  const body = `{"query":${JSON.stringify(write)},"extensions":${given}}`;
  const { text } = await gateway.post(body, { 'content-type': 'application/json', ...headers });
  expect(JSON.parse(text)).toMatchObject(rejected);
  expect(service.received).toEqual([]);
});

test('an age in the body counts: what is older than the records is not executed', async () => {
  const { service, gateway } = await startStack(success);
  const { data } = await send(gateway, write, { ...inBody, idempotencyKeyAge: 3_600_000 });
  expect(data.result).toMatchObject({ code: 'ORPHANED' });
  expect(service.received).toEqual([]);
});

test('a query ignores keys, also two that differ', async () => {
  const { gateway } = await startStack(success);
  const { errors } = await send(gateway, read, inBody, { 'idempotency-key': 'not valid at all' });
  expect(errors).toBeUndefined();
});

test('with trusted documents, a request that names its document by an id has its key in the body', async () => {
  const id = createHash('sha256').update(write).digest('hex');
  const manifest = await temporaryFile(JSON.stringify({ [id]: write }));
  const { service, gateway } = await startStack(success, { TRUSTED_DOCUMENTS: manifest });
  const persistedQuery = { version: 1, sha256Hash: id };
  for (const isReplayed of [false, true]) {
    const { text, headers } = await gateway.post({ extensions: { persistedQuery, ...inBody } });
    expect(JSON.parse(text).errors).toBeUndefined();
    expect(headers.get('idempotent-replayed')).toBe(isReplayed ? 'true' : null);
  }
  expect(service.received).toHaveLength(1);
});

test('IDEMPOTENCY_REQUIRED accepts a key in the body, and says without one what may have removed it', async () => {
  const { service, gateway } = await startStack(success, { IDEMPOTENCY_REQUIRED: 'true' });
  const message = expect.stringContaining('a proxy or router on the way removes it');
  expect(await send(gateway, write, {})).toMatchObject({ errors: [{ message }] });
  expect(service.received).toEqual([]);
  const hint = expect.stringContaining('It was not sent.');
  expect(gateway.logs).toContainEqual(
    expect.objectContaining({ requestId: expect.any(String), hint }),
  );
  expect((await send(gateway, write, inBody)).errors).toBeUndefined();
});

test.each<[string, unknown, object]>([
  ['header', undefined, { 'idempotency-key-age': '0' }],
  ['body', { idempotencyKeyAge: 900 }, {}],
])(
  'a write with an age in the %s and no key is not sent, because only a lost key leaves one',
  async (_, extensions, headers) => {
    const { service, gateway } = await startStack(success);
    const code = 'BAD_USER_INPUT';
    expect(await send(gateway, write, extensions, headers)).toMatchObject({
      errors: [{ extensions: { code } }],
    });
    expect(service.received).toEqual([]);
  },
);

test('the log says once that writes arrive without a key, and what may have removed it', async () => {
  const { gateway } = await startStack(success);
  await send(gateway, write, inBody);
  await send(gateway, write, {});
  await send(gateway, write, {});
  const msg = 'write without idempotency key';
  const hint = expect.stringContaining('a proxy or router removes it');
  expect(gateway.logs.filter((line) => line.msg === msg)).toEqual([
    expect.objectContaining({ level: 40, requestId: expect.any(String), hint }),
  ]);
});

describe('settling says whether the request itself carries the key', () => {
  const settle = 'mutation { result: settleWrites(idempotencyKey: "intent-1") { keyArrived } }';

  test.each<[boolean, string, unknown, object]>([
    [true, 'in the header', undefined, { 'idempotency-key': 'intent-1' }],
    [true, 'in the body', { idempotencyKey: 'intent-1' }, {}],
    [true, 'in the body, beside one of a proxy', inBody, { 'idempotency-key': 'of-a-proxy' }],
    [false, 'nowhere', undefined, {}],
    [false, 'in the place of which there is another', undefined, { 'idempotency-key': 'other' }],
  ])('%p: %s', async (keyArrived, _, extensions, headers) => {
    const { gateway } = await startStack(success, { IDEMPOTENCY_REQUIRED: 'true' });
    expect(await send(gateway, settle, extensions, headers)).toMatchObject({
      data: { result: { keyArrived } },
    });
  });

  test('also with the outcomes of a write whose key has arrived', async () => {
    const { gateway } = await startStack(success, { IDEMPOTENCY_STORE: await agedStore() });
    await send(gateway, write, inBody);
    const { data } = await send(
      gateway,
      settle.replace('{ key', '{ writes { responseName } key'),
      {},
    );
    expect(data.result).toEqual({ writes: [{ responseName: 'result' }], keyArrived: false });
  });
});
