import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { readConfig } from '../src/config.ts';
import { closeAfterTest, json, startService, testIssuer } from './helper.ts';

const required = {
  UPSTREAM_BASE_URL: 'http://service.example/api',
  JWT_JWKS_URL: 'https://issuer.example/jwks.json',
  JWT_ISSUER: 'issuer',
  JWT_AUDIENCE: 'gateway',
};

/** The lines of the one error that a bad configuration gets. */
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

test('the defaults are those of the design', () => {
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
      issuer: 'issuer',
      audience: 'gateway',
      algorithms: ['RS256', 'PS256', 'ES256', 'EdDSA'],
      clockToleranceS: 5,
    },
    explorer: 'off',
    introspection: false,
    corsOrigins: [],
    maxWritesPerOperation: 5,
    shutdownDelayMs: 0,
    shutdownTimeoutMs: 15_000,
    otlpEndpoint: undefined,
    logLevel: 'info',
  });
});

test('a final slash of the base URL is kept as it is', () => {
  const { upstream } = readConfig({ ...required, UPSTREAM_BASE_URL: 'https://service.example/a/' });
  expect(upstream.baseUrl.href).toBe('https://service.example/a/');
});

test('an empty variable is a missing one', () => {
  const { port, corsOrigins } = readConfig({ ...required, PORT: '', CORS_ORIGINS: '' });
  expect(port).toBe(4000);
  expect(corsOrigins).toEqual([]);
  expect(problemsOf({ ...required, JWT_ISSUER: '' })).toEqual(['JWT_ISSUER is required']);
});

test('lists are separated by commas, with or without spaces', () => {
  const { corsOrigins, jwt } = readConfig({
    ...required,
    CORS_ORIGINS: 'https://a.example, http://localhost:3000',
    JWT_ALGORITHMS: 'ES256,EdDSA',
  });
  expect(corsOrigins).toEqual(['https://a.example', 'http://localhost:3000']);
  expect(jwt.algorithms).toEqual(['ES256', 'EdDSA']);
});

test.each([
  ['PORT', 'abc', /integer from 0 to 65535/],
  ['PORT', '65536', /integer from 0 to 65535/],
  ['PORT', '-1', /integer/],
  ['PORT', '80.5', /integer/],
  ['PORT', ' 80', /integer/],
  ['UPSTREAM_BASE_URL', 'service.example', /http\(s\) URL/],
  ['UPSTREAM_BASE_URL', 'ftp://service.example', /http\(s\) URL/],
  ['UPSTREAM_BASE_URL', 'http://ada:secret@service.example', /credentials/],
  ['UPSTREAM_BASE_URL', 'http://service.example/?a=b', /query/],
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
  ['CORS_ORIGINS', '*', /exact origins/],
  ['CORS_ORIGINS', 'https://a.example/', /exact origins/],
  ['CORS_ORIGINS', 'https://*.example', /exact origins/],
  ['CORS_ORIGINS', 'null', /exact origins/],
  ['MAX_WRITES_PER_OPERATION', '0', /integer/],
  ['SHUTDOWN_DELAY_MS', 'x', /integer/],
  ['SHUTDOWN_TIMEOUT_MS', '0', /integer/],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector', /http\(s\) URL/],
  ['LOG_LEVEL', 'loud', /fatal, error, warn/],
])('%s=%s is told what it should be', (name, value, should) => {
  const problems = problemsOf({ ...required, [name]: value });
  expect(problems).toEqual([expect.stringMatching(should)]);
  expect(problems[0]).toMatch(new RegExp(`^${name} `));
  expect(problems[0]).not.toContain('secret');
});

test('nothing at all: every missing variable is named', () => {
  expect(problemsOf({})).toEqual([
    'UPSTREAM_BASE_URL is required',
    'JWT_ISSUER is required',
    'JWT_AUDIENCE is required',
    expect.stringContaining('JWT_JWKS_URL or JWT_JWKS_FILE is required'),
  ]);
});

test('all that is wrong is told at once', () => {
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

test('a URL and a file of keys are one too many', () => {
  const file = fileURLToPath(new URL('../package.json', import.meta.url));
  const problems = problemsOf({ ...required, JWT_JWKS_FILE: file });
  expect(problems.join()).toContain('JWT_JWKS_FILE must be a readable file');
  expect(problems.join()).toContain('JWT_JWKS_URL or JWT_JWKS_FILE is required, and only one');
});

test.each(['/nowhere/jwks.json', '/'])('a JWT_JWKS_FILE of %s cannot be read', (file) => {
  expect(problemsOf({ ...required, JWT_JWKS_URL: '', JWT_JWKS_FILE: file })).toEqual([
    expect.stringMatching(/^JWT_JWKS_FILE must be a readable file/),
  ]);
});

/** The process, with no variables but these. */
function startProcess(variables: Record<string, string>) {
  const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));
  const child = spawn(process.execPath, [main], { env: variables });
  closeAfterTest(async () => child.kill('SIGKILL'));
  return { child, exited: once(child, 'exit') };
}

test('a bad environment ends the process with one message and no stack', async () => {
  const { child, exited } = startProcess({ PORT: 'x', JWT_ISSUER: 'issuer' });
  const [out, err, [code]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  expect(code).toBe(1);
  expect(out).toBe('');
  expect(err).toContain('PORT must be an integer');
  expect(err).toContain('UPSTREAM_BASE_URL is required');
  expect(err).toContain('JWT_AUDIENCE is required');
  expect(err).not.toMatch(/^\s+at /m);
});

test('a port that is taken ends the process with one message and no stack', async () => {
  const service = await startService(json({}));
  const { child, exited } = startProcess({
    ...required,
    HOST: '127.0.0.1',
    PORT: new URL(service.url).port,
  });
  const [err, [code]] = await Promise.all([text(child.stderr), exited]);
  expect(code).toBe(1);
  expect(err).toContain('EADDRINUSE');
  expect(err).not.toMatch(/^\s+at /m);
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  'a good environment serves, until %s ends the process',
  async (signal) => {
    const service = await startService(json({ status: 0, service_status: { status: 0 } }));
    const { jwksUrl, issuer, audience, token } = await testIssuer();
    const { child, exited } = startProcess({
      HOST: '127.0.0.1',
      PORT: '0',
      UPSTREAM_BASE_URL: service.url,
      JWT_JWKS_URL: jwksUrl,
      JWT_ISSUER: issuer,
      JWT_AUDIENCE: audience,
    });
    const url = await listeningAt(child.stdout);

    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${await token()}`,
      },
      body: '{"query":"{ glCodes(target: EMAIL, project: \\"a\\") { __typename } }"}',
    });
    expect(await response.json()).toEqual({ data: { glCodes: { __typename: 'GlCodeList' } } });

    child.kill(signal);
    expect(await exited).toEqual([0, null]);
  },
);

/** The address in the log line that tells it. */
async function listeningAt(stdout: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(stdout)) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? [];
    if (url) return url;
  }
  throw new Error('it ended without listening');
}
