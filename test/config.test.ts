import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { readConfig, settingsOf } from '../src/config.ts';
import { createPrivateCa, expired } from './support/certificate.ts';

const required = {
  UPSTREAM_BASE_URL: 'http://service.example/api',
  JWT_JWKS_URL: 'https://issuer.example/jwks.json',
  JWT_ISSUER: 'issuer',
  JWT_AUDIENCE: 'gateway',
};

/** The lines of the error for an invalid configuration. None if it is valid. */
function problemsOf(variables: Record<string, string>): string[] {
  try {
    readConfig(variables);
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ConfigError') throw error;
    const [head, ...problems] = error.message.split('\n');
    expect(head).toMatch(/configuration/);
    return problems.map((problem) => problem.trim());
  }
  return [];
}

test('the defaults are as documented', () => {
  expect(readConfig(required)).toMatchObject({
    port: 4000,
    host: '0.0.0.0',
    upstream: {
      baseUrl: new URL('http://service.example/api/'),
      timeoutMs: 10_000,
      csvOptionParam: undefined,
      maxResponseBytes: 16_777_216,
      maxConcurrency: 256,
    },
    jwt: {
      keys: new URL('https://issuer.example/jwks.json'),
      issuers: ['issuer'],
      audiences: ['gateway'],
      algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
      clockToleranceS: 5,
    },
    explorer: 'off',
    introspection: false,
    corsOrigins: [],
    compression: true,
    maxWritesPerOperation: 5,
    shutdownDelayMs: 2000,
    shutdownTimeoutMs: 15_000,
    tracing: { endpoint: undefined, sampler: 'parentbased_always_on', sampledShare: 1 },
    commit: 'unknown',
    logLevel: 'info',
  });
});

test('a trailing slash of the base URL is not doubled', () => {
  const { upstream } = readConfig({ ...required, UPSTREAM_BASE_URL: 'https://service.example/a/' });
  expect(upstream.baseUrl.href).toBe('https://service.example/a/');
});

test('an empty variable counts as missing', () => {
  const { port, corsOrigins } = readConfig({ ...required, PORT: '', CORS_ORIGINS: '' });
  expect(port).toBe(4000);
  expect(corsOrigins).toEqual([]);
  expect(problemsOf({ ...required, JWT_ISSUER: '' })).toEqual(['JWT_ISSUER is required']);
});

test('lists are separated by commas, with or without spaces', () => {
  const { corsOrigins, jwt } = readConfig({
    ...required,
    CORS_ORIGINS: 'https://*.a.example.com, http://localhost:*',
    JWT_ALGORITHMS: 'ES256,EdDSA',
  });
  expect(corsOrigins).toEqual(['https://*.a.example.com', 'http://localhost:*']);
  expect(jwt.algorithms).toEqual(['ES256', 'EdDSA']);
});

test.each([
  ['PORT', 'abc', /integer from 0 to 65535/],
  ['ADMIN_PORT', '4000', /must not be PORT/],
  ['PORT', '65536', /integer from 0 to 65535/],
  ['PORT', '-1', /integer/],
  ['PORT', '80.5', /integer/],
  ['PORT', ' 80', /integer/],
  ['UPSTREAM_BASE_URL', 'service.example', /http\(s\) URL/],
  ['UPSTREAM_BASE_URL', 'ftp://service.example', /http\(s\) URL/],
  ['UPSTREAM_BASE_URL', 'http://ada:secret@service.example', /credentials/],
  ['UPSTREAM_BASE_URL', 'http://service.example/?a=b', /query/],
  ['UPSTREAM_BASE_URL', 'http://service.example/api?', /query/],
  ['UPSTREAM_BASE_URL', 'http://service.example/api#', /query/],
  ['UPSTREAM_TIMEOUT_MS', '0', /integer/],
  ['UPSTREAM_TIMEOUT_MS', '10s', /integer/],
  ['UPSTREAM_MAX_RESPONSE_BYTES', '16MB', /integer/],
  ['UPSTREAM_MAX_CONCURRENCY', '0', /integer/],
  ['JWT_JWKS_URL', 'jwks.json', /http\(s\) URL/],
  ['JWT_ALGORITHMS', 'HS256', /RS256/],
  ['JWT_ALGORITHMS', 'RS256,none', /RS256/],
  ['JWT_ALGORITHMS', ',', /empty/],
  ['JWT_CLOCK_TOLERANCE_S', '-1', /integer/],
  ['EXPLORER', 'on', /sandbox, graphiql or off/],
  ['INTROSPECTION', 'yes', /true or false/],
  ...[
    '*',
    'https://a.example/',
    'https://*.example',
    'https://app-*.a.example',
    'https://b.*.a.example',
    'https://*.*.a.example',
    'https://*.a.example:*',
    'http://localhost:3*',
    'null',
  ].map((value) => ['CORS_ORIGINS', value, /must be origins such as/] as const),
  ['WORKFLOW_ACTIONS', 'RESTART,upgradeToHQ', /list of RESTART, /],
  ['WORKFLOW_ACTIONS', ',', /list of RESTART, /],
  ['IDEMPOTENCY_STORE_FILE', '/nowhere', /a readable file with a value of IDEMPOTENCY_STORE/],
  ['COMPRESSION', 'true', /on or off/],
  ['MAX_WRITES_PER_OPERATION', '0', /integer/],
  ['SHUTDOWN_DELAY_MS', 'x', /integer/],
  ['SHUTDOWN_TIMEOUT_MS', '0', /integer/],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector', /http\(s\) URL/],
  ['LOG_LEVEL', 'loud', /fatal, error, warn/],
])('the error for %s=%s describes the valid values', (name, value, description) => {
  const problems = problemsOf({ ...required, [name]: value });
  expect(problems).toEqual([expect.stringMatching(description)]);
  expect(problems[0]).toMatch(new RegExp(`^${name} `));
  expect(problems[0]).not.toContain('secret');
});

test('the error for an empty environment names every missing variable', () => {
  expect(problemsOf({})).toEqual([
    'UPSTREAM_BASE_URL is required',
    'JWT_ISSUER is required',
    'JWT_AUDIENCE is required',
  ]);
});

test('the error names every invalid variable', () => {
  const problems = problemsOf({
    ...required,
    PORT: 'x',
    LOG_LEVEL: 'x',
    JWT_ISSUER: '',
    EXPLORER: 'x',
  });
  expect(problems.map((problem) => problem.split(' ')[0]).sort()).toEqual([
    'EXPLORER',
    'JWT_ISSUER',
    'LOG_LEVEL',
    'PORT',
  ]);
});

test('both a URL and a file for the keys is an error', () => {
  const file = fileURLToPath(new URL('../package.json', import.meta.url));
  const problems = problemsOf({ ...required, JWT_JWKS_FILE: file });
  expect(problems.join()).toContain('JWT_JWKS_FILE must be a readable file');
  expect(problems.join()).toContain('set JWT_JWKS_URL or JWT_JWKS_FILE, not both');
});

test('without keys, the issuers must be URLs, so that their keys can be found by discovery', () => {
  const variables = { ...required, JWT_JWKS_URL: '' };
  expect(problemsOf(variables)).toEqual([
    expect.stringMatching(/^JWT_ISSUER must be http\(s\) URLs/),
  ]);
  const issuers = 'https://a.example, https://b.example/tenant';
  expect(readConfig({ ...variables, JWT_ISSUER: issuers }).jwt).toMatchObject({
    keys: undefined,
    issuers: ['https://a.example', 'https://b.example/tenant'],
  });
});

test('the store may be in a file, whose text is not shown', () => {
  const file = join(mkdtempSync(join(tmpdir(), 'config-')), 'store');
  writeFileSync(file, 'redis://user:secret@redis.example\n');
  const variables = { ...required, IDEMPOTENCY_STORE_FILE: file };
  expect(readConfig(variables).idempotency.store).toBe('redis://user:secret@redis.example');
  expect(problemsOf({ ...variables, IDEMPOTENCY_STORE: 'memory' })).toEqual([
    'set IDEMPOTENCY_STORE or IDEMPOTENCY_STORE_FILE, not both',
  ]);
  writeFileSync(file, 'secret');
  expect(problemsOf(variables)).toEqual([
    'IDEMPOTENCY_STORE_FILE must be a readable file with a value of IDEMPOTENCY_STORE',
  ]);
});

test('a mode without trusted documents is an error', () => {
  expect(problemsOf({ ...required, TRUSTED_DOCUMENTS_MODE: 'log' })).toEqual([
    'TRUSTED_DOCUMENTS_MODE requires TRUSTED_DOCUMENTS',
  ]);
});

test('an empty list of issuers is an error', () => {
  expect(problemsOf({ ...required, JWT_ISSUER: ' , ' })).toEqual(['JWT_ISSUER must not be empty']);
});

test.each(['/nowhere/jwks.json', '/'])(
  'a JWT_JWKS_FILE of %s is an error, because it cannot be read',
  (file) => {
    expect(problemsOf({ ...required, JWT_JWKS_URL: '', JWT_JWKS_FILE: file })).toEqual([
      expect.stringMatching(/^JWT_JWKS_FILE must be a readable file/),
    ]);
  },
);

test.each([
  ['UPSTREAM_TIMEOUT', 'UPSTREAM_TIMEOUT_MS'],
  ['JWT_ISSUERS', 'JWT_ISSUER'],
  ['JWT_JWKS_URI', 'JWT_JWKS_URL'],
  ['CORS_ORIGIN', 'CORS_ORIGINS'],
  ['IDEMPOTENCY_STORES', 'IDEMPOTENCY_STORE'],
  ['IDEMPOTENCY_RETENTION', 'IDEMPOTENCY_RETENTION_S'],
  ['MAX_WRITES', 'MAX_WRITES_PER_OPERATION'],
])('%s is reported as a misspelling of %s', (name, meant) => {
  expect(problemsOf({ ...required, [name]: '1' })).toEqual([
    `${name} is unknown. Did you mean ${meant}?`,
  ]);
});

test.each([
  'HOSTNAME',
  'PATH',
  'UPSTREAM_SERVICE_HOST',
  'UPSTREAM_PORT_80_TCP_ADDR',
  'OTEL_SERVICE_NAME',
  'OTEL_EXPORTER_OTLP_HEADERS',
  'npm_config_loglevel',
])('%s belongs to others', (name) => {
  expect(() => readConfig({ ...required, [name]: '1' })).not.toThrow();
});

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/otel' }, 'http://c:4318/otel/v1/traces'],
  [
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318',
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t:4318/own',
    },
    'http://t:4318/own',
  ],
  [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t:4318', OTEL_SDK_DISABLED: 'True' }, undefined],
  [
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t:4318', OTEL_SDK_DISABLED: '1' },
    'http://t:4318/',
  ],
])('with %j, traces are sent to %s', (variables, endpoint) => {
  expect(readConfig({ ...required, ...variables }).tracing.endpoint?.href).toBe(endpoint);
});

test('the settings for the log hold nothing secret, and the paths of files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'config-'));
  const fileWith = (text: string) => {
    const file = join(folder, crypto.randomUUID());
    writeFileSync(file, text);
    return file;
  };
  const path = expect.stringContaining(folder);
  const settings = settingsOf(
    readConfig({
      ...required,
      IDEMPOTENCY_STORE_FILE: fileWith('postgres://user:secret-1@db.example/keys'),
      UPSTREAM_HEADERS_FILE: fileWith('x-key: secret-3'),
      TRUSTED_DOCUMENTS: fileWith('{"secret-4":"{ glCodes }"}'),
      TRUSTED_DOCUMENTS_MODE: 'log',
      EXPLORER_HEADERS: '{"authorization":"Bearer secret-2"}',
    }),
  );
  expect(JSON.stringify(settings)).not.toContain('secret-');
  expect(settings).toMatchObject({
    upstream: { headers: ['x-key'], headersFile: path },
    trustedDocuments: [{ path, size: 1 }],
    trustedDocumentsMode: 'log',
    idempotency: { store: 'postgres', storeFile: path, quarantineMs: 120_000 },
    explorerHeaders: ['authorization'],
    jwt: { keys: 'https://issuer.example/jwks.json' },
  });
  expect(
    settingsOf(readConfig({ ...required, JWT_JWKS_URL: '', JWT_ISSUER: 'https://a.example' })),
  ).toMatchObject({
    jwt: { keys: 'discovery' },
  });
});

test('the variables for TLS are checked, alone and together', async () => {
  const ca = await createPrivateCa();
  const [one, two] = await Promise.all([ca.issue('one'), ca.issue('two')]);
  const https = { ...required, UPSTREAM_BASE_URL: 'https://service.example/' };
  const pair = { UPSTREAM_TLS_CERT_FILE: one.certFile, UPSTREAM_TLS_KEY_FILE: one.keyFile };

  expect(readConfig({ ...https, ...pair, UPSTREAM_TLS_CA_FILE: ca.certFile }).upstream.tls).toEqual(
    {
      ca: ca.cert,
      cert: one.cert,
      key: one.key,
    },
  );
  const [oldCa, old] = await Promise.all([createPrivateCa(expired), ca.issue('old', expired)]);
  const ofOld = { UPSTREAM_TLS_CERT_FILE: old.certFile, UPSTREAM_TLS_KEY_FILE: old.keyFile };
  expect(problemsOf({ ...https, ...ofOld, UPSTREAM_TLS_CA_FILE: oldCa.certFile })).toEqual([
    'UPSTREAM_TLS_CA_FILE expired at 2021-01-01T00:00:00.000Z',
    'UPSTREAM_TLS_CERT_FILE expired at 2021-01-01T00:00:00.000Z',
  ]);
  writeFileSync(old.certFile, `${one.cert}\n${old.cert}`); // A chain with an expired certificate.
  expect(problemsOf({ ...https, ...ofOld })).toEqual([
    'UPSTREAM_TLS_CERT_FILE expired at 2021-01-01T00:00:00.000Z',
  ]);
  expect(problemsOf({ ...https, UPSTREAM_TLS_CA_FILE: one.keyFile })).toEqual([
    'UPSTREAM_TLS_CA_FILE must be a readable file with certificates in PEM',
  ]);
  expect(problemsOf({ ...https, ...pair, UPSTREAM_TLS_KEY_FILE: one.certFile })).toEqual([
    'UPSTREAM_TLS_KEY_FILE must be a readable file with a private key in PEM',
  ]);
  expect(problemsOf({ ...https, UPSTREAM_TLS_CERT_FILE: one.certFile })).toEqual([
    'UPSTREAM_TLS_CERT_FILE and UPSTREAM_TLS_KEY_FILE are required together',
  ]);
  expect(problemsOf({ ...https, ...pair, UPSTREAM_TLS_KEY_FILE: two.keyFile })).toEqual([
    'UPSTREAM_TLS_KEY_FILE must be the key of UPSTREAM_TLS_CERT_FILE',
  ]);
  expect(problemsOf({ ...required, ...pair })).toEqual([
    'UPSTREAM_BASE_URL must be https with UPSTREAM_TLS_CA_FILE, _CERT_FILE or _KEY_FILE',
  ]);
  const settings = settingsOf(readConfig({ ...https, ...pair }));
  expect(settings.upstream.tls).toEqual({ cert: one.certFile, key: one.keyFile });
  expect(JSON.stringify(settings)).not.toContain('BEGIN');
});
