import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { write } from '../support/graphql-operation.ts';
import { json, startService } from '../support/service.ts';

const origin = 'https://app.example';

async function start() {
  const service = await startService(json({ status: 0 }));
  return startTestGateway(service, { CORS_ORIGINS: origin });
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

test('a page can read whether an outcome was replayed', async () => {
  const gateway = await start();
  const headers = { origin, 'idempotency-key': 'intent-1' };

  await gateway.graphql(write, {}, headers);
  const repeat = await gateway.graphql(write, {}, headers);

  expect(repeat.headers.get('idempotent-replayed')).toBe('true');
  const exposed = repeat.headers.get('access-control-expose-headers')?.split(/, */);
  expect(exposed).toContain('idempotent-replayed');
});
