import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { expect, test } from '@jest/globals';
import { textForOption } from '../../src/command-line.ts';
import { version } from '../../src/version.ts';
import { closeAfterTest } from '../support/cleanup.ts';
import { environmentFor } from '../support/environment.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { freePort } from '../support/port.ts';
import { startProcess } from '../support/process.ts';
import { json, startService } from '../support/service.ts';
import { createSigningKey } from '../support/signing-key.ts';

test('an invalid environment ends the process with one message and no stack', async () => {
  const child = startProcess(['src/main.ts'], { env: { PORT: 'x', JWT_ISSUER: 'issuer' } });
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(child.lines).toEqual([]);
  for (const fault of ['PORT must be an integer', 'UPSTREAM_BASE_URL is', 'JWT_AUDIENCE is']) {
    expect(child.errorText()).toContain(fault);
  }
  expect(child.errorText()).not.toMatch(/^\s+at /m);
});

test('options print and end the process, without listening', async () => {
  const service = { url: 'https://user-visible.example/path-secret/' };
  const env = await environmentFor(service, { IDEMPOTENCY_STORE: 'redis://user:secret@redis' });
  const child = startProcess(['src/main.ts', '--check-config'], { env });
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(child.errorText()).toBe('');
  const text = child.lines.join('\n');
  expect(JSON.parse(text)).toMatchObject({
    upstream: { baseUrl: 'https://user-visible.example', timeoutMs: 30_000 },
    idempotency: { store: 'redis', retentionMs: 86_400_000 },
  });
  expect(text).not.toContain('secret');

  expect(textForOption(['--help'], {})).toContain('--check-config');
  expect(textForOption(['--version'], {})).toBe(`${version}\n`);
  const invalid = () => textForOption(['--check-config'], { ...env, PORT: 'x', LOG_LEVEL: 'x' });
  expect(invalid).toThrow(/PORT must be .*LOG_LEVEL must be/s);
  expect(() => textForOption(['--chek-config'], env)).toThrow('Usage');
});

test('a port that is in use ends the process with one message and no stack', async () => {
  const service = await startService(json({}));
  const env = await environmentFor(service, { PORT: new URL(service.url).port });
  const child = startProcess(['src/main.ts'], { env });
  expect(await child.exited).toEqual({ code: 1, signal: null });
  expect(child.errorText()).toContain('EADDRINUSE');
  expect(child.errorText()).not.toMatch(/^\s+at /m);
});

test.each(['refuses connections', 'does not respond'])(
  'a gateway whose issuer %s when it starts is not ready, and is within five seconds of its return',
  async (fault) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const listen = (server: Server) => once(server.listen(port, '127.0.0.1'), 'listening');
    const hanging = createServer(() => {});
    if (fault === 'does not respond') await listen(hanging);
    const gateway = await startGatewayProcess(
      { url: 'http://127.0.0.1:1/' },
      { JWT_JWKS_URL: '', JWT_ISSUER: url },
    );
    const status = async () => (await fetch(`${gateway.url}/readyz`)).status;
    await gateway.logLine({ msg: 'cannot fetch keys' });
    expect(await status()).toBe(503);

    hanging.closeAllConnections();
    await new Promise((resolve) => hanging.close(resolve));
    const { jwk } = await createSigningKey('one');
    const document = { issuer: url, jwks_uri: `${url}/keys` };
    const issuer = createServer((request, response) => {
      response.end(JSON.stringify(request.url === '/keys' ? { keys: [jwk] } : document));
    });
    await listen(issuer);
    closeAfterTest(() => issuer.close());
    const returned = performance.now();
    await gateway.logLine({ msg: 'keys fetched' });
    expect(await status()).toBe(200);
    expect(performance.now() - returned).toBeLessThan(5000);
    expect(await gateway.stop()).toBe(0);
  },
);
