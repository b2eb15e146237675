import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { connectTo, exchange } from '../support/raw-request.ts';
import { json } from '../support/service.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const origin = 'https://app.example';
const graphqlType = 'application/graphql-response+json; charset=utf-8';
const jsonType = 'application/json; charset=utf-8';
/** The header that Apollo Client sends. */
const apolloClient = 'application/graphql-response+json,application/json;q=0.9';

const setReply = shareGateway({ CORS_ORIGINS: origin });

function start() {
  const { gateway } = setReply(json({ status: 0 }));
  /** Sends a POST, and returns status, media type and CORS header of the response. */
  async function send(accept: string, headers: Record<string, string>, body: string) {
    const response = await gateway.post(body, { origin, accept, ...headers });
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      vary: response.headers.get('vary'),
      allowed: response.headers.get('access-control-allow-origin'),
      code: JSON.parse(response.text).errors[0].extensions.code,
    };
  }
  return { ...gateway, send };
}

const query = '{"query":"{ __typename }"}';
const deep = JSON.stringify({ query: `{ ${'a { '.repeat(30)} b ${'}'.repeat(30)} }` });

/** Errors inside and outside Apollo Server. */
const errors: [string, number, string, Record<string, string>, string][] = [
  ['an invalid token', 401, 'UNAUTHENTICATED', { authorization: 'Bearer x' }, query],
  ['another content type', 415, 'UNSUPPORTED_MEDIA_TYPE', { 'content-type': 'text/plain' }, query],
  ['a body that is not JSON', 400, 'BAD_REQUEST', {}, '{'],
  ['a body that is too large', 413, 'PAYLOAD_TOO_LARGE', {}, ' '.repeat(16_777_217)],
  ['a document over a limit', 400, 'OPERATION_LIMIT_EXCEEDED', {}, deep],
  ['an invalid document', 400, 'GRAPHQL_VALIDATION_FAILED', {}, '{"query":"{ a }"}'],
];

test.each(errors)('%s gets the media type that the client prefers', async (...error) => {
  const [, status, code, headers, body] = error;
  const { send } = start();
  const common = {
    status,
    code,
    allowed: origin,
    vary: expect.stringMatching(/^Accept, Origin\b/),
  };

  expect(await send(apolloClient, headers, body)).toEqual({ ...common, type: graphqlType });
  expect(await send('*/*', headers, body)).toEqual({ ...common, type: jsonType });
});

test.each([
  ['application/graphql-response+json', graphqlType],
  ['application/json;q=0.5, Application/GraphQL-Response+JSON', graphqlType],
  ['application/json, application/graphql-response+json', jsonType],
  ['application/json;q=0.1, */*', graphqlType],
  ['*/*', jsonType],
])(
  'an error outside Apollo Server has the same media type as one inside for %s',
  async (accept, type) => {
    const { send } = start();
    const inside = await send(accept, {}, '{"query":"{ a }"}');
    const outside = await send(accept, {}, '{');
    expect([inside.type, outside.type]).toEqual([type, type]);
  },
);

test('an error for which the framework runs no hook has CORS headers', async () => {
  const gateway = start();
  const get = (from: string) =>
    exchange(
      gateway.url,
      `GET /%zz HTTP/1.1\nHost: a\nOrigin: ${from}\nAccept: ${apolloClient}\nConnection: close\n\n`,
    );

  const allowed = await get(origin);
  expect(allowed).toMatch(/^HTTP\/1\.1 400 /);
  expect(allowed).toMatch(/^access-control-allow-origin: https:\/\/app\.example\r$/im);
  expect(allowed).toMatch(/^content-type: application\/graphql-response\+json; charset=utf-8\r$/im);
  expect(await get('https://other.example')).not.toMatch(/^access-control-allow-origin:/im);
});

test('a body with an invalid chunk gets an error that a page can read', async () => {
  const gateway = start();
  const response = await exchange(
    gateway.url,
    `POST /graphql HTTP/1.1\nHost: a\nOrigin: ${origin}\nAccept: ${apolloClient}\nX-Request-Id: invalid-chunk\nAuthorization: Bearer ${gateway.token}\nContent-Type: application/json\nTransfer-Encoding: chunked\n\nzz\n`,
  );
  expect(response).toMatch(/^HTTP\/1\.1 400 /);
  expect(response).toMatch(/^access-control-allow-origin: https:\/\/app\.example\r$/im);
  expect(response).toMatch(
    /^content-type: application\/graphql-response\+json; charset=utf-8\r$/im,
  );
  await gateway.logLine({ requestId: 'invalid-chunk', status: 400, outcome: 'BAD_REQUEST' });
});

test('a client reads the response to a body that is too large while it sends the body', async () => {
  const gateway = start();
  const socket = connectTo(gateway.url);
  const length = 25_000_000;
  socket.write(
    `POST /graphql HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${gateway.token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`,
  );
  // Reads only after it has sent everything, as browsers do.
  await promisify((done: (error?: Error | null) => void) =>
    socket.write(' '.repeat(length), done),
  )();
  const response = await new Promise((resolve) => socket.once('data', resolve));
  expect(String(response)).toMatch(/^HTTP\/1\.1 413 /);
});
