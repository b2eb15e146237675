import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { checkPath } from '../../dev/path-check.ts';
import { ledger } from '../../src/resolvers/ledger.ts';
import { startHttpServer } from '../../testkit/http-server.ts';
import { freePort } from '../../testkit/port.ts';

type Proxy = {
  attempts?: number;
  /** After how many equal requests it answers them itself. */
  keepsAfter?: number;
  /** The only operation that it treats like this. */
  only?: string;
  /** How many requests it does not send after the service has failed. */
  rests?: number;
};

/** How many paths are checked besides that of the read. */
const actions = ledger.operations.filter(({ action }) => action !== undefined).length;
const times = { silenceMs: 100, recoveryMs: 2_000 };

/** Starts a proxy in front of the stand-in, which may send a request again if there is no response, and answer an equal one itself. */
async function startProxy(standIn: number, { keepsAfter = Infinity, rests = 0, ...proxy }: Proxy) {
  const kept = new Map<string, number>();
  let resting = 0;
  const { origin } = await startHttpServer(async (request, response) => {
    const { url = '/', headers, method } = request;
    const isMeant = !proxy.only || url.includes(`/${proxy.only}?`);
    const earlier = kept.get(url) ?? 0;
    if (isMeant && earlier >= keepsAfter) return response.end();
    if (resting > 0) {
      resting -= 1;
      return response.writeHead(502).end();
    }
    const attempts = isMeant ? (proxy.attempts ?? 1) : 1;
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const sent = httpRequest({ port: standIn, path: url, headers, method }).end();
      request.once('close', () => sent.destroy());
      const received = await once(sent, 'response').catch(() => undefined);
      if (!received) continue;
      const [{ statusCode = 0 }] = received as [IncomingMessage];
      kept.set(url, earlier + 1);
      return response.writeHead(statusCode).end();
    }
    if (!request.destroyed) resting = rests;
    return response.writeHead(502).end();
  });
  return `${origin}/api/`;
}

/** What the check says of a proxy. */
async function check(proxy: Proxy) {
  const standIn = await freePort();
  return checkPath({ url: await startProxy(standIn, proxy), standIn, ...times });
}

test.each([
  ['that sends each request once', {}],
  ['that sends nothing for a while after a failure', { rests: 2 }],
])('a proxy %s is found fine', async (_, proxy) => {
  const { text, isFine } = await check(proxy);

  expect(text.match(/^GET .*/gm)).toHaveLength(actions + 1);
  expect(text).toContain('/api/getGLCodes5\n');
  expect(text).toContain('/api/upgradeToHQ\n');
  expect(text.match(/1 sent, 1 arrived\n/g)).toHaveLength(11);
  expect(text.match(/5 sent, 5 arrived\n/g)).toHaveLength(2);
  expect(isFine).toBe(true);
});

test('a proxy that repeats a request is found', async () => {
  const { text, isFine } = await check({ attempts: 3 });

  expect(text).toMatch(/closes a connection that was used before +1 sent, 3 arrived {2}REPEATED\n/);
  expect(text).toContain('docs/how-to/proxy-before-the-service.md');
  expect(isFine).toBe(false);
});

test('a proxy that repeats the requests of one action alone is found', async () => {
  const { text, isFine } = await check({ attempts: 2, only: 'upgradeToHQ' });

  const [others = '', one = ''] = text.split(/^(?=GET .*\/upgradeToHQ$)/m);
  expect(others.match(/^GET .*/gm)).toHaveLength(actions);
  expect(others).not.toContain('REPEATED');
  expect(one).toContain('REPEATED');
  expect(isFine).toBe(false);
});

test.each([1, 3])('a cache that answers after %i equal requests is found', async (keepsAfter) => {
  const { text, isFine } = await check({ keepsAfter });

  const fault = `5 sent, ${keepsAfter} arrived  ANSWERED ON THE WAY\n`;
  expect(text).toContain(`answers five equal requests               ${fault}`);
  expect(isFine).toBe(false);
});

test('requests that do not arrive are not called answered', async () => {
  const standIn = await freePort();
  const url = await startProxy(standIn, { rests: 99 });

  const { text, isFine } = await checkPath({ url, standIn, silenceMs: 100, recoveryMs: 0 });

  expect(text).toContain('1 sent, 0 arrived  DID NOT ARRIVE (502)\n');
  expect(text).toContain('No request that arrived was repeated or answered on the way.\n');
  expect(text).toContain('Some requests did not arrive, so the check is not complete.\n');
  expect(isFine).toBe(false);
});

test('an action whose path does not lead to the stand-in is not sent', async () => {
  const standIn = await freePort();
  const url = await startProxy(standIn, {});
  const received: unknown[] = [];
  const { origin } = await startHttpServer(async (request, response) => {
    const path = request.url ?? '/';
    if (!path.startsWith('/upgradeToHQ')) {
      const { headers, method = 'GET' } = request;
      const sent = await fetch(`${url}${path.slice(1)}`, {
        method,
        headers: { 'content-length': headers['content-length'] ?? '0' },
      }).catch(() => undefined);
      return response.writeHead(sent?.status ?? 502).end();
    }
    received.push(request.method);
    return response.writeHead(204).end();
  });

  const { text, isFine } = await checkPath({ url: origin, standIn, ...times });

  expect(received).toEqual(['OPTIONS']);
  expect(text).toContain(`reach the stand-in: OPTIONS ${origin}/upgradeToHQ (204)\n`);
  expect(isFine).toBe(false);
});

test('a proxy that sends no HTTP to the stand-in is told so', async () => {
  const standIn = await freePort();
  const { origin } = await startHttpServer(async (_, response) => {
    const sent = connect(standIn, '127.0.0.1').end('no HTTP\r\n\r\n');
    await once(sent.resume(), 'close').catch(() => undefined);
    response.writeHead(502).end();
  });

  const { text } = await checkPath({ url: origin, standIn, ...times });

  expect(text).toContain('What arrived there was no HTTP.');
});

test('a path that does not lead to the stand-in gets one read with a token that is not valid, and is not checked', async () => {
  const received: unknown[] = [];
  const { origin } = await startHttpServer(({ method, url, headers }, response) => {
    received.push([method, url?.split('?')[0], headers.authorization]);
    response.writeHead(401).end();
  });

  const { text, isFine } = await checkPath({ url: origin, standIn: await freePort() });

  expect(text).toContain('(401) does not lead to the stand-in');
  expect(received).toEqual([['GET', '/getGLCodes5', 'Bearer e30.e30.e30']]);
  expect(isFine).toBe(false);
});

test('an address that cannot be reached is told so', async () => {
  const url = `http://127.0.0.1:${await freePort()}/`;

  const { text, isFine } = await checkPath({ url, standIn: await freePort() });

  expect(text).toMatch(
    /getGLCodes5 cannot be reached: connect ECONNREFUSED .*\. Nothing was checked\.\n/,
  );
  expect(isFine).toBe(false);
});
