import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { gatewayConfig } from '../../examples/federation/hive-gateway.config.ts';
import { readConfig } from '../../src/config.ts';

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

/** The largest request body of the gateway (BODY_LIMIT in src/http/server.ts). */
const bodyLimit = 16 * 1024 * 1024;

test('the configuration of Apollo Router forwards the token and passes on error codes', () => {
  expect(read('apollo-router.yaml')).toEqual({
    headers: {
      subgraphs: {
        ledger: {
          request: [
            { propagate: { named: 'authorization' } },
            { propagate: { named: 'x-request-id' } },
            { propagate: { named: 'traceparent' } },
            { propagate: { named: 'tracestate' } },
            { propagate: { named: 'idempotency-key' } },
            { propagate: { named: 'idempotency-key-age' } },
          ],
        },
      },
    },
    rhai: { scripts: '.', main: 'apollo-router.rhai' },
    traffic_shaping: { router: { timeout: '30s' }, subgraphs: { ledger: { timeout: '15s' } } },
    limits: { http_max_request_bytes: bodyLimit },
    include_subgraph_errors: {
      all: { redact_message: true, allow_extensions_keys: [] },
      subgraphs: {
        ledger: {
          redact_message: false,
          allow_extensions_keys: ['code', 'retryable', 'requestId', 'faults'],
        },
      },
    },
  });
});

test('the script of Apollo Router forwards the headers of keys', () => {
  const script = readFileSync(new URL('apollo-router.rhai', folder), 'utf8');
  for (const name of ['idempotent-replayed', 'idempotent-in-progress']) {
    expect(script).toContain(`if "${name}" in response.headers`);
    expect(script).toContain(`response.headers["${name}"] = "true"`);
  }
});

test('the configuration of Cosmo Router forwards the token, passes on error codes, and does not retry', () => {
  expect(read('cosmo-router.yaml')).toEqual({
    version: '1',
    execution_config: { file: { path: './router-config.json' } },
    headers: {
      subgraphs: {
        ledger: {
          request: [
            { op: 'propagate', named: 'Authorization' },
            { op: 'propagate', named: 'X-Request-Id' },
            { op: 'propagate', named: 'Traceparent' },
            { op: 'propagate', named: 'Tracestate' },
            { op: 'propagate', named: 'Idempotency-Key' },
            { op: 'propagate', named: 'Idempotency-Key-Age' },
          ],
          response: [
            { op: 'propagate', named: 'Idempotent-Replayed', algorithm: 'last_write' },
            { op: 'propagate', named: 'Idempotent-In-Progress', algorithm: 'last_write' },
          ],
        },
      },
    },
    traffic_shaping: {
      router: { max_request_body_size: '16MiB' },
      subgraphs: { ledger: { request_timeout: '15s', retry: { enabled: false } } },
    },
    subgraph_error_propagation: {
      mode: 'pass-through',
      omit_extensions: false,
      allowed_extension_fields: ['code', 'retryable', 'requestId', 'faults'],
    },
  });
});

test('the configuration of Hive Gateway forwards the token, and neither retries nor shares requests', () => {
  expect(gatewayConfig).toMatchObject({
    upstreamTimeout: 15_000,
    upstreamRetry: { maxRetries: 0 },
    inboundInflightRequestDeduplication: false,
  });
  const request = new Request('https://graph.example', {
    headers: {
      authorization: 'Bearer token',
      'x-request-id': '7',
      'idempotency-key-age': '7',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      cookie: 'not for subgraphs',
    },
  });
  expect(gatewayConfig.propagateHeaders.fromClientToSubgraphs({ request })).toEqual({
    authorization: 'Bearer token',
    'x-request-id': '7',
    'idempotency-key-age': '7',
    traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    tracestate: null,
  });
});

test('the configuration of Hive Gateway forwards the headers of keys to the client', () => {
  const forwarded = { 'idempotent-replayed': 'true', 'idempotent-in-progress': 'true' };
  const response = new Response(null, { headers: { ...forwarded, 'x-request-id': '7' } });
  expect(gatewayConfig.propagateHeaders.fromSubgraphsToClient({ response })).toEqual(forwarded);
  expect(gatewayConfig.propagateHeaders.deduplicateHeaders).toBe(true);
});

test('the timeout of Hive Gateway is longer than the timeout of the gateway', () => {
  expect(gatewayConfig.upstreamTimeout).toBeGreaterThan(defaults.upstream.timeoutMs);
});

const subgraph = (url: string, file: string) => ({ routing_url: url, schema: { file } });
const ledger = subgraph('http://ledger-gateway:4000/graphql', '../../schema.graphql');
const invoices = subgraph('http://invoices:4001/graphql', './invoices.graphql');

test('the configuration of rover names existing files', () => {
  expect(read('supergraph.yaml')).toEqual({
    federation_version: 2,
    subgraphs: { ledger, invoices },
  });
});

test('the configuration of wgc names existing files', () => {
  expect(read('graph.yaml')).toEqual({
    version: 1,
    subgraphs: [
      { name: 'ledger', ...ledger },
      { name: 'invoices', ...invoices },
    ],
  });
});

test.each([ledger.schema.file, invoices.schema.file])('%s exists', (file) => {
  expect(existsSync(new URL(file, folder))).toBe(true);
});
