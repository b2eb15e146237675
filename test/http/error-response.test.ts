import { expect, test } from '@jest/globals';
import { write } from '../../testkit/graphql-operation.ts';
import { json } from '../../testkit/service.ts';
import { authorized, exchange, requestOnly } from '../support/raw-request.ts';
import { shareGateway } from '../support/shared-gateway.ts';

const origin = 'https://app.example';
const graphqlType = 'application/graphql-response+json; charset=utf-8';
const jsonType = 'application/json; charset=utf-8';
/** The header that Apollo Client sends. */
const apolloClient = 'application/graphql-response+json,application/json;q=0.9';

const setReply = shareGateway({ CORS_ORIGINS: origin });

function start() {
  const { service, gateway } = setReply(json({ status: 0 }));
  /** Sends a POST, and returns what differs between responses. */
  async function send(accept: string, headers: Record<string, string>, body: unknown) {
    const response = await gateway.post(body, { origin, accept, ...headers });
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      vary: response.headers.get('vary'),
      allowed: response.headers.get('access-control-allow-origin'),
      code: JSON.parse(response.text).errors?.[0].extensions.code,
    };
  }
  return { ...gateway, service, send };
}

const deep = JSON.stringify({ query: `{ ${'a { '.repeat(30)} b ${'}'.repeat(30)} }` });
const manyFaults = JSON.stringify({ query: `{ ${'nothing '.repeat(40)} }` });
const gzip = { 'accept-encoding': 'gzip' };

// Errors inside and outside Apollo Server.
test.each<[string, number, string, Record<string, string>, string]>([
  ['an invalid token', 401, 'UNAUTHENTICATED', { authorization: 'Bearer x' }, '{}'],
  ['another content type', 415, 'UNSUPPORTED_MEDIA_TYPE', { 'content-type': 'text/plain' }, '{}'],
  ['a body that is not JSON', 400, 'BAD_REQUEST', {}, '{'],
  ['a body that is too large', 413, 'PAYLOAD_TOO_LARGE', {}, ' '.repeat(17_825_793)],
  ['a document over a limit', 400, 'OPERATION_LIMIT_EXCEEDED', {}, deep],
  ['an invalid document', 400, 'GRAPHQL_VALIDATION_FAILED', {}, '{"query":"{ a }"}'],
  ['an error that is compressed', 400, 'GRAPHQL_VALIDATION_FAILED', gzip, manyFaults],
])('%s gets the media type that the client prefers', async (...error) => {
  const [, status, code, headers, body] = error;
  const { send } = start();
  const vary = expect.stringMatching(/^Accept, Origin\b/);
  const common = { status, code, allowed: origin, vary };
  expect(await send(apolloClient, headers, body)).toEqual({ ...common, type: graphqlType });
  expect(await send('*/*', headers, body)).toEqual({ ...common, type: jsonType });
});

test.each([
  ['*/*', jsonType],
  ['', jsonType],
  ['application/*', jsonType],
  ['application/json', jsonType],
  ['text/html, application/json;q=0.1', jsonType],
  ['application/graphql-response+json', graphqlType],
  [apolloClient, graphqlType],
  ['application/json;q=0.5, Application/GraphQL-Response+JSON', graphqlType],
  ['application/json, application/graphql-response+json', jsonType],
  ['application/json;q=0.1, */*', graphqlType],
])(
  'for "%s", an outcome and errors inside and outside Apollo Server have the type %s',
  async (accept, type) => {
    const { service, send } = start();
    expect(await send(accept, {}, { query: write })).toMatchObject({ status: 200, type });
    expect(service.received).toHaveLength(1);
    for (const body of ['{"query":"{ a }"}', '{']) {
      expect(await send(accept, {}, body)).toMatchObject({ status: 400, type });
    }
  },
);

test.each([
  ...['text/html', 'text/event-stream', 'multipart/mixed', 'image/*'],
  ...['application/json;version=1', 'application/json;q=0'],
  // Too long to parse.
  `${'application/json,'.repeat(40)}*/*`,
])('a mutation that accepts only %s is rejected before sending', async (accept) => {
  const { service, send } = start();
  const rejection = { status: 406, code: 'BAD_REQUEST' };
  expect(await send(accept, {}, { query: write })).toMatchObject(rejection);
  expect(service.received).toEqual([]);
});

test.each([
  ['a path that cannot be decoded', 404, 'NOT_FOUND', 'GET /%zz', ''],
  ['a body with an invalid chunk', 400, 'BAD_REQUEST', 'POST /graphql', 'zz\n'],
])(
  '%s gets an error that only a page of a listed origin can read',
  async (_, status, outcome, line, chunk) => {
    const gateway = start();
    const send = (from: string) => {
      const own = `origin: ${from}\naccept: ${apolloClient}\nx-request-id: invalid\n`;
      const headers = `${own}${authorized(gateway)}${chunk && 'transfer-encoding: chunked'}`;
      return exchange(gateway.url, requestOnly(line, headers) + chunk);
    };
    const allowed = await send(origin);
    expect(allowed).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(allowed).toMatch(/^access-control-allow-origin: https:\/\/app\.example\r$/im);
    expect(allowed).toMatch(
      /^content-type: application\/graphql-response\+json; charset=utf-8\r$/im,
    );
    expect(await send('https://other.example')).not.toMatch(/^access-control-allow-origin:/im);
    await gateway.logLine({ requestId: 'invalid', status, outcome });
  },
);

const invalidHeaders: [string, string, number, string][] = [
  ['two Host headers', 'host: b', 400, 'BAD_REQUEST'],
  ['another transfer coding', 'transfer-encoding: gzip, chunked', 400, 'BAD_REQUEST'],
  ['a compressed body', 'content-encoding: gzip', 415, 'UNSUPPORTED_MEDIA_TYPE'],
];

test.each(invalidHeaders)(
  'with %s, a request gets the same response on every path',
  async (_, header, status, code) => {
    const { url } = start();
    for (const path of ['/livez', '/readyz', '/metrics', '/nothing', '/graphql']) {
      const response = await exchange(url, requestOnly(`GET ${path}`, header));
      expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      const { errors } = JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4));
      expect(errors).toEqual([{ message: expect.any(String), extensions: expect.anything() }]);
      expect(errors[0].extensions).toMatchObject({ code, retryable: false });
    }
  },
);
