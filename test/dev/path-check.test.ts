import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { checkPath } from '../../dev/path-check.ts';
import { startHttpServer } from '../../testkit/http-server.ts';
import { freePort } from '../../testkit/port.ts';

type Proxy = { attempts?: number; keepsResponses?: boolean };

/** Starts a proxy in front of the stand-in, which may send a request again if there is no response, and answer an equal one itself. */
async function startProxy(standIn: number, { attempts = 1, keepsResponses = false }: Proxy) {
  const kept = new Set<string>();
  const { origin } = await startHttpServer(async (request, response) => {
    const { url = '/', headers } = request;
    if (keepsResponses && kept.has(url)) return response.end();
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const sent = httpRequest({ port: standIn, path: url, headers }).end();
      request.once('close', () => sent.destroy());
      const received = await once(sent, 'response').catch(() => undefined);
      if (!received) continue;
      const [{ statusCode = 0 }] = received as [IncomingMessage];
      kept.add(url);
      return response.writeHead(statusCode).end();
    }
    return response.writeHead(502).end();
  });
  return `${origin}/api/`;
}

test('a proxy that sends each request once is found fine', async () => {
  const standIn = await freePort();

  const url = await startProxy(standIn, {});
  const { text, isFine } = await checkPath({ url, standIn, silenceMs: 100 });

  expect(text).toContain('/api/getGLCodes5\n');
  expect(text.match(/1 sent, 1 arrived\n/g)).toHaveLength(6);
  expect(text.match(/2 sent, 2 arrived\n/g)).toHaveLength(2);
  expect(isFine).toBe(true);
});

test('a proxy that repeats a request is found', async () => {
  const standIn = await freePort();

  const url = await startProxy(standIn, { attempts: 3 });
  const { text, isFine } = await checkPath({ url, standIn, silenceMs: 100 });

  expect(text).toMatch(/closes a connection that was used before +1 sent, 3 arrived {2}REPEATED\n/);
  expect(text).toContain('docs/how-to/proxy-before-the-service.md');
  expect(isFine).toBe(false);
});

test('a cache is found', async () => {
  const standIn = await freePort();

  const url = await startProxy(standIn, { keepsResponses: true });
  const { text, isFine } = await checkPath({ url, standIn, silenceMs: 100 });

  expect(text).toMatch(/answers two equal requests +2 sent, 1 arrived {2}ANSWERED ON THE WAY\n/);
  expect(isFine).toBe(false);
});

test('a path that does not lead to the stand-in gets one read without a token, and is not checked', async () => {
  const received: unknown[] = [];
  const { origin } = await startHttpServer(({ method, url, headers }, response) => {
    received.push([method, url?.split('?')[0], headers.authorization]);
    response.writeHead(401).end();
  });

  const { text, isFine } = await checkPath({ url: origin, standIn: await freePort() });

  expect(text).toContain('(401) does not lead to the stand-in');
  expect(received).toEqual([['GET', '/getGLCodes5', undefined]]);
  expect(isFine).toBe(false);
});
