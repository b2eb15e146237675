import { expect, test } from '@jest/globals';
import { read } from '../../testkit/graphql-operation.ts';
import { success } from '../../testkit/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const origin = 'https://app.example';
const origins = [origin, 'https://*.preview.example.com', 'http://localhost:*'];
const share = shareGateway({ CORS_ORIGINS: origins.join(), EXPLORER: 'sandbox' });

/** The preflight request of a browser for a page of this origin. */
function preflight(url: string, from: string) {
  const headers = {
    origin: from,
    'access-control-request-method': 'POST',
    'access-control-request-headers': 'authorization,content-type,idempotency-key',
  };
  return fetch(`${url}/graphql`, { method: 'OPTIONS', headers });
}

test('a page of a listed origin may send requests with an idempotency key, and read what became of it', async () => {
  const { gateway } = share(success);
  const { status, headers } = await preflight(gateway.url, origin);
  expect(status).toBe(204);
  expect(headers.get('access-control-allow-origin')).toBe(origin);
  expect(headers.get('vary')).toMatch(/origin/i);
  const allowed = headers.get('access-control-allow-headers')?.split(/, */);
  expect(allowed).toEqual(expect.arrayContaining(['authorization', 'idempotency-key']));
  expect(headers.get('access-control-allow-methods')).toBe('GET, POST');
  const posted = await gateway.graphql(read, {}, { origin });
  expect(posted.headers.get('access-control-expose-headers')?.split(/, */)).toEqual(
    expect.arrayContaining(['x-request-id', 'idempotent-replayed', 'idempotent-in-progress']),
  );
  expect(posted.headers.get('access-control-allow-origin')).toBe(origin);
  expect(posted.headers.get('access-control-allow-credentials')).toBeNull();
});

// A wildcard stands for one whole label or for the port.
const mayNot = [
  'https://preview.example.com https://a.b.preview.example.com https://.preview.example.com',
  'https://evil.example/.preview.example.com http://pr-1.preview.example.com http://localhost:',
  'http://localhost:5173.evil.example http://localhost.evil.example:80 http://app.example null',
  `${origin}:444 ${origin}.evil.example https://evilapp.example https://evil.example`,
  'https://sandbox.embed.apollographql.com https://studio.apollographql.com',
];
const may = 'https://pr-1.preview.example.com http://localhost http://localhost:5173';
test.each([
  ...may.split(' ').map((from) => [true, from] as const),
  ...mayNot.flatMap((line) => line.split(' ')).map((from) => [false, from] as const),
])('it is %s that a page of %s may send requests', async (isAllowed, from) => {
  const { gateway } = share(success);
  const allowed = (await preflight(gateway.url, from)).headers.get('access-control-allow-origin');
  expect(allowed === from).toBe(isAllowed);
  expect(allowed).not.toBe('*');
});

const shareClosed = shareGateway();

test('without CORS_ORIGINS, no page of another origin may send requests', async () => {
  const { headers } = await preflight(shareClosed(success).gateway.url, origin);
  expect(headers.get('access-control-allow-origin')).toBeNull();
});
