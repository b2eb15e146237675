import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { write } from '../support/graphql-operation.ts';
import { json, startService } from '../support/service.ts';

const origin = 'https://app.example';

async function start(origins = origin) {
  const service = await startService(json({ status: 0 }));
  return startTestGateway(service, { CORS_ORIGINS: origins });
}

test('a page may send an idempotency key', async () => {
  const gateway = await start();
  const preflight = await fetch(`${gateway.url}/graphql`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,idempotency-key',
    },
  });
  expect(preflight.status).toBe(204);
  const allowed = preflight.headers.get('access-control-allow-headers')?.split(/, */);
  expect(allowed).toContain('idempotency-key');
});

test('a page can read whether an outcome was replayed or is in progress', async () => {
  const gateway = await start();
  const headers = { origin, 'idempotency-key': 'intent-1' };

  await gateway.graphql(write, {}, headers);
  const repeat = await gateway.graphql(write, {}, headers);

  expect(repeat.headers.get('idempotent-replayed')).toBe('true');
  const exposed = repeat.headers.get('access-control-expose-headers')?.split(/, */);
  expect(exposed).toEqual(
    expect.arrayContaining(['x-request-id', 'idempotent-replayed', 'idempotent-in-progress']),
  );
});

test('a wildcard stands for one whole label or for the port', async () => {
  const gateway = await start(`${origin},https://*.preview.example.com,http://localhost:*`);
  const isAllowed = async (from: string) => {
    const { headers } = await fetch(`${gateway.url}/livez`, { headers: { origin: from } });
    return headers.get('access-control-allow-origin') === from;
  };
  for (const from of [
    origin,
    'https://pr-1.preview.example.com',
    'http://localhost',
    'http://localhost:5173',
  ])
    expect([from, await isAllowed(from)]).toEqual([from, true]);
  for (const from of [
    'https://preview.example.com',
    'https://a.b.preview.example.com',
    'https://evil.example/.preview.example.com',
    'http://pr-1.preview.example.com',
    'https://.preview.example.com',
    'http://localhost:5173.evil.example',
    'http://localhost.evil.example:80',
    'http://localhost:',
    `${origin}:444`,
  ])
    expect([from, await isAllowed(from)]).toEqual([from, false]);
});
