import { Readable } from 'node:stream';
import { expect, jest, test } from '@jest/globals';
import { freePort } from '../../testkit/port.ts';
import { json, type Reply, reply, startService } from '../../testkit/service.ts';
import { createTestAuthenticator } from '../support/authenticator.ts';
import { createSigningKey } from '../support/signing-key.ts';
import { stopClock } from '../support/stopped-clock.ts';

/** Node's own global object. */
declare const native: typeof globalThis;

const [old, rotated] = [await createSigningKey('old'), await createSigningKey('rotated')];

/** Keys are fetched at most once a second. */
const advance = stopClock();
const nextSecond = () => advance(1000);

async function startKeyServer(first: Reply = json({ keys: [old.jwk] })) {
  const server = await startService(first);
  const address = `${server.url}keys`;
  return { ...server, url: new URL(`${address}?secret=1`), address };
}

/** An authenticator with the keys of a server that has fetched them, and may fetch them again. */
async function start() {
  const keyServer = await startKeyServer();
  const authenticator = createTestAuthenticator(keyServer.url);
  expect(await authenticator.resultOf(await old.sign())).toBe('accepted');
  nextSecond();
  return { keyServer, ...authenticator };
}

test('while the key server fails, new keys are AUTH_UNAVAILABLE, and are accepted within a second of its return', async () => {
  const { keyServer, resultOf, logs } = await start();
  const token = await rotated.sign();
  for (const failure of [reply(500), reply(500), json({ secret: [] })]) {
    keyServer.respondWith(failure);
    for (const _ of [1, 2]) expect(await resultOf(token)).toBe('keys_unavailable');
    nextSecond();
  }
  expect(keyServer.received).toHaveLength(4);
  expect(await resultOf(await old.sign({ sub: 'grace' }))).toBe('accepted');

  keyServer.respondWith(json({ keys: [rotated.jwk] }));
  expect(await resultOf(token)).toBe('accepted');
  const withdrawn = await old.sign({ sub: 'new' });
  expect(await resultOf(withdrawn)).toBe('unknown_key');
  nextSecond();
  keyServer.respondWith(reply(503));
  expect(await resultOf(withdrawn)).toBe('keys_unavailable');

  // Each change of the fault has one line.
  const failed = (fault: string) => {
    const whole = `${keyServer.address}: ${fault}`;
    return { msg: 'cannot fetch keys', fault: whole, keysAvailable: true };
  };
  const [first, second] = [failed('status 500'), failed('not a JSON Web Key Set')];
  expect(logs).toMatchObject([first, second, { msg: 'keys fetched' }, failed('status 503')]);
});

test('once the keys are fetched again, a token of a withdrawn key is rejected, although it was verified before', async () => {
  const { keyServer, resultOf } = await start();
  const token = await old.sign();
  keyServer.respondWith(json({ keys: [old.jwk, rotated.jwk] }));
  expect(await resultOf(token)).toBe('accepted');
  expect(await resultOf(await rotated.sign())).toBe('accepted');
  expect(await resultOf(token)).toBe('accepted');
  nextSecond();
  keyServer.respondWith(json({ keys: [rotated.jwk] }));
  expect(await resultOf(await old.sign({}, { kid: 'invented' }))).toBe('unknown_key');
  expect(await resultOf(token)).toBe('unknown_key');
});

test('invented key ids cause one fetch a second, and do not delay a rotation by more', async () => {
  const { keyServer, resultOf, logs } = await start();
  const invented = (n: number) => old.sign({}, { kid: `invented-${n}` });
  for (const second of [1, 2]) {
    const results = await Promise.all([1, 2, 3].map(async (n) => resultOf(await invented(n))));
    expect(results).toEqual(['unknown_key', 'unknown_key', 'unknown_key']);
    expect(await resultOf(await invented(4))).toBe('unknown_key');
    expect(keyServer.received).toHaveLength(1 + second);
    nextSecond();
  }
  keyServer.respondWith(json({ keys: [old.jwk, rotated.jwk] }));
  expect(await resultOf(await rotated.sign())).toBe('accepted');
  expect(logs).toEqual([]);
});

test('a fetch that hangs ends after 4 s', async () => {
  const { keyServer, resultOf, logs } = await start();
  const late = new AbortController();
  const timeout = jest.spyOn(native.AbortSignal, 'timeout').mockReturnValueOnce(late.signal);
  keyServer.respondWith(() => late.abort(new DOMException('', 'TimeoutError')));
  expect(await resultOf(await rotated.sign())).toBe('keys_unavailable');
  expect(timeout).toHaveBeenCalledWith(4000);
  expect(logs).toMatchObject([{ fault: `${keyServer.address}: TimeoutError` }]);
});

test.each<[string, Reply | undefined]>([
  ['status 404', reply(404, 'secret')],
  ['status 302', reply(302, '', { location: 'https://elsewhere.example' })],
  ['not JSON', reply(200, 'secret')],
  ['not a JSON Web Key Set', json({ secret: [] })],
  ['UND_ERR_SOCKET', (response) => void response.destroy()],
  ['ECONNREFUSED', undefined],
])(
  'without keys that can be fetched (%s), no token is accepted, and the log has the address without its query',
  async (fault, answer) => {
    const keyServer = await startKeyServer(answer);
    const address = answer ? keyServer.address : `http://127.0.0.1:${await freePort()}/keys`;
    const { resultOf, isReady, lastFetches, logs } = createTestAuthenticator(
      new URL(`${address}?secret=1`),
    );
    expect(await resultOf(await rotated.sign())).toBe('keys_unavailable');
    expect(isReady()).toBe(false);
    expect(lastFetches()).toEqual([[{ issuer: 'issuer' }, 0]]);
    expect(logs).toEqual([
      expect.objectContaining({ fault: `${address}: ${fault}`, keysAvailable: false }),
    ]);
  },
);

test('a document without an end is read up to a mebibyte', async () => {
  let sent = 0;
  const closed = Promise.withResolvers<void>();
  const { url } = await startService((response) => {
    const read = function (this: Readable) {
      sent += 65_536;
      this.push(' '.repeat(65_536));
    };
    new Readable({ read }).pipe(response.on('close', closed.resolve));
  });
  const { logLine } = createTestAuthenticator(new URL(`${url}keys`));
  const fault = `${url}keys: over 1048576 bytes`;
  await logLine({ msg: 'cannot fetch keys', fault });
  await closed.promise;
  expect(sent).toBeLessThan(16 * 1_048_576); // Some of it is in buffers of the connection.
});

test('a token without a key id is tried with three keys', async () => {
  const signers = await Promise.all([1, 2, 3, 4].map((n) => createSigningKey(`${n}`)));
  const { resultOf } = createTestAuthenticator({ keys: signers.map(({ jwk }) => jwk) });
  const verify = jest.spyOn(crypto.subtle, 'verify');
  const results: unknown[] = [];
  for (const { sign } of signers) results.push(await resultOf(await sign({}, { kid: undefined })));
  expect(results).toEqual(['accepted', 'accepted', 'accepted', 'signature']);
  expect(verify).toHaveBeenCalledTimes(1 + 2 + 3 + 3);
});
