import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { ledgerDataSource } from '../../examples/federation/apollo-gateway.ts';
import { gatewayConfig } from '../../examples/federation/hive-gateway.config.ts';
import { BODY_LIMIT } from '../../src/http/request-body.ts';
import { readConfig } from '../../testkit/config.ts';

const folder = new URL('../../examples/federation/', import.meta.url);

function read(file: string): unknown {
  return parse(readFileSync(new URL(file, folder), 'utf8'), { strict: true });
}

/** The default configuration of the gateway, which the examples match. */
const defaults = readConfig({
  UPSTREAM_BASE_URL: 'https://service.example/',
  JWT_JWKS_URL: 'https://issuer.example/jwks',
  JWT_ISSUER: 'issuer',
  JWT_AUDIENCE: 'audience',
});

/** The headers of a client that the gateway reads, and its headers for the client. */
const forwarded = [
  ...['Authorization', 'X-Request-Id', 'Traceparent', 'Tracestate'],
  ...['Idempotency-Key', 'Idempotency-Key-Age'],
];
const returned = ['Idempotent-Replayed', 'Idempotent-In-Progress'];
const lower = (name: string) => name.toLowerCase();
const ofErrors = ['code', 'retryable', 'retryAfterS', 'requestId', 'faults'];

test('the configuration of Apollo Router forwards the token, and passes on error codes and headers of keys', () => {
  const request = forwarded.map((name) => ({ propagate: { named: lower(name) } }));
  expect(read('apollo-router.yaml')).toEqual({
    headers: { subgraphs: { ledger: { request } } },
    rhai: { scripts: '.', main: 'apollo-router.rhai' },
    traffic_shaping: { router: { timeout: '30s' }, subgraphs: { ledger: { timeout: '15s' } } },
    limits: { http_max_request_bytes: BODY_LIMIT },
    include_subgraph_errors: {
      all: { redact_message: true, allow_extensions_keys: [] },
      subgraphs: { ledger: { redact_message: false, allow_extensions_keys: ofErrors } },
    },
  });
  const script = readFileSync(new URL('apollo-router.rhai', folder), 'utf8');
  for (const name of returned.map(lower)) {
    expect(script).toContain(`if "${name}" in response.headers`);
    expect(script).toContain(`response.headers["${name}"] = "true"`);
  }
});

test('the configuration of Cosmo Router forwards the token, passes on error codes, and does not retry', () => {
  const request = forwarded.map((named) => ({ op: 'propagate', named }));
  const response = returned.map((named) => ({ op: 'propagate', named, algorithm: 'last_write' }));
  expect(read('cosmo-router.yaml')).toEqual({
    version: '1',
    execution_config: { file: { path: './router-config.json' } },
    headers: { subgraphs: { ledger: { request, response } } },
    traffic_shaping: {
      router: { max_request_body_size: `${BODY_LIMIT / 2 ** 20}MiB` },
      subgraphs: { ledger: { request_timeout: '15s', retry: { enabled: false } } },
    },
    subgraph_error_propagation: {
      mode: 'pass-through',
      omit_extensions: false,
      allowed_extension_fields: ofErrors,
    },
  });
});

test('the configuration of Hive Gateway forwards the token, and neither retries nor shares requests', () => {
  expect(gatewayConfig).toMatchObject({
    upstreamTimeout: 15_000,
    upstreamRetry: { maxRetries: 0 },
    inboundInflightRequestDeduplication: false,
  });
  expect(gatewayConfig.upstreamTimeout).toBeGreaterThan(defaults.service.timeoutMs);
  const sent = Object.fromEntries(forwarded.map((name) => [lower(name), '7']));
  const headers = { ...sent, cookie: 'not for subgraphs' };
  const { propagateHeaders } = gatewayConfig;
  const request = new Request('https://graph.example', { headers });
  expect(propagateHeaders.fromClientToSubgraphs({ request })).toEqual(sent);

  const ofKeys = { 'idempotent-replayed': 'true', 'idempotent-in-progress': 'true' };
  const response = new Response(null, { headers: { ...ofKeys, 'x-request-id': '7' } });
  expect(propagateHeaders.fromSubgraphsToClient({ response })).toEqual(ofKeys);
  expect(propagateHeaders.deduplicateHeaders).toBe(true);
});

test('the plugin of Hive Gateway sends the response name of a field, if the request is for one field', () => {
  const sent = (info: object | undefined) => {
    const executionRequest: { info?: object; extensions?: object } = { ...(info && { info }) };
    for (const plugin of gatewayConfig.plugins()) {
      if ('onSubgraphExecute' in plugin) plugin.onSubgraphExecute({ executionRequest });
    }
    return executionRequest.extensions;
  };
  expect(sent({ path: { key: 'a' } })).toEqual({ headers: { 'idempotency-response-name': 'a' } });
  // With --hive-router-runtime, a request has no path.
  for (const info of [{}, undefined]) expect(sent(info)).toBeUndefined();
});

test('the data source of Apollo Gateway forwards these headers alone, and reads every error response', async () => {
  const names = [...forwarded, 'Cookie'].map(lower);
  const req = { headers: Object.fromEntries(names.map((name) => [name, '7'])) };
  const http = { headers: new Headers() };
  ledgerDataSource.willSendRequest({ request: { http }, context: { req } });
  expect([...http.headers.keys()].sort()).toEqual(forwarded.map(lower).sort());

  const extensions = { code: 'AUTH_UNAVAILABLE', retryable: true, requestId: '7' };
  const read = (body: string) =>
    ledgerDataSource.errorFromResponse(new Response(body, { status: 503 }));
  const error = { message: 'Later.', extensions };
  expect(await read(JSON.stringify({ errors: [error] }))).toMatchObject(error);
  for (const body of ['<h1>503</h1>', 'null', '{"errors":[]}', '{"errors":[null]}']) {
    expect(await read(body)).toMatchObject({ extensions: {} });
  }
});

const subgraph = (url: string, file: string) => ({ routing_url: url, schema: { file } });
const ledger = subgraph('http://ledger-gateway:4000/graphql', '../../schema.graphql');
const trips = subgraph('http://trips:4001/graphql', './trips.graphql');

test('the configurations of rover and wgc name existing files', () => {
  const subgraphs = { ledger, trips };
  expect(read('supergraph.yaml')).toEqual({ federation_version: 2, subgraphs });
  const named = Object.entries(subgraphs).map(([name, subgraph]) => ({ name, ...subgraph }));
  expect(read('graph.yaml')).toEqual({ version: 1, subgraphs: named });
  for (const { schema } of named) {
    expect([schema, existsSync(new URL(schema.file, folder))]).toEqual([schema, true]);
  }
});
