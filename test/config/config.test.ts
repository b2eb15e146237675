import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { settingsOf } from '../../src/config/config.ts';
import { createPrivateCa, expired } from '../../testkit/certificate.ts';
import { readConfig, variables } from '../../testkit/config.ts';
import { temporaryFile } from '../../testkit/temporary-folder.ts';
import { createSigningKey } from '../support/signing-key.ts';

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

// docs/configuration.test.ts has the defaults.

test('values are read as documented: empty ones as missing, and lists with or without spaces', () => {
  const read = readConfig({
    ...required,
    PORT: '',
    UPSTREAM_BASE_URL: 'https://service.example/a/',
    CORS_ORIGINS: 'https://*.a.example.com, http://localhost:*',
    JWT_ALGORITHMS: 'ES256,EdDSA',
    JWT_TYP: 'at+jwt, application/JWT',
    JWT_CNF: 'proxy',
  });
  expect(read).toMatchObject({
    service: { baseUrl: new URL('https://service.example/a/') },
    http: { port: 4000, corsOrigins: ['https://*.a.example.com', 'http://localhost:*'] },
    jwt: {
      algorithms: ['ES256', 'EdDSA'],
      issuers: [{ issuer: 'issuer', audiences: ['gateway'] }],
      types: ['at+jwt', 'jwt'],
      isBindingChecked: true,
    },
  });
  const { baseUrl } = readConfig(required).service;
  expect(baseUrl).toEqual(new URL('http://service.example/api/'));
});

// Invalid values, separated by spaces, and what the error says about valid ones.
test.each<[name: string, values: string, description: RegExp]>([
  ['PORT', 'abc 65536 -1 80.5', /integer from 0 to 65535/],
  ['ADMIN_PORT', '4000', /must not be PORT/],
  ['UPSTREAM_BASE_URL', 'service.example ftp://service.example', /http\(s\) URL/],
  [
    'UPSTREAM_BASE_URL',
    'http://a.example/secret/getGLCodes5 http://a.example/getglcodes5/ https://a.example/api/upgradeToHQ/',
    /must be the address below which the operations are: leave out (getGLCodes5|upgradeToHQ)$/i,
  ],
  ['UPSTREAM_BASE_URL', 'http://ada:secret@service.example', /credentials/],
  ['UPSTREAM_BASE_URL', 'http://a.example/?a=b http://a.example/a? http://a.example/a#', /query/],
  [
    'UPSTREAM_TIMEOUT_MS',
    '0 10s 1e3 600001',
    /be whole milliseconds from 1 to 600000, without a unit, and not "(0|10s|1e3|600001)"$/,
  ],
  [
    'UPSTREAM_MAX_RESPONSE_BYTES',
    '16MB 0 268435457',
    /be whole bytes from 1 to 268435456, without a unit, and not "/,
  ],
  ['UPSTREAM_MAX_CONCURRENCY', '0', /be an integer from 1 to 65535, and not "0"$/],
  ['UPSTREAM_CSV_OPTION_PARAM', 'type\n ty"pe a&b a=b typ\u00e9', /name of a query parameter/],
  [
    'HOST',
    '0.0.0.0\n http://127.0.0.1 127.0.0.1:80 [::1] a,b 999.1.1.1 10.0.0 1.2.3.4. 127 a..b',
    /an IP address or a host name/,
  ],
  ['READ_CACHE_S', '-1 301 1.5', /whole seconds from 0 to 300/],
  ['JWT_JWKS_URL', 'jwks.json', /http\(s\) URL/],
  ['JWT_ALGORITHMS', 'HS256 RS256,none ,', /list of RS256, /],
  ['JWT_TYP', ', text/at+jwt at+jwt;v=1', /types such as at\+jwt/],
  ['JWT_CNF', 'true accept', /reject or proxy/],
  ['JWT_CLOCK_TOLERANCE_S', '-1', /whole seconds/],
  ['AUDIT', 'on file: /var/log/audit.log', /must be off, stdout or file:PATH/],
  ['EXPLORER', 'on', /sandbox, graphiql or off/],
  ['INTROSPECTION', 'yes', /true or false/],
  ['CORS_ORIGINS', '* null https://a.example/ https://*.example', /must be origins such as/],
  ['CORS_ORIGINS', 'https://app-*.a.example https://b.*.a.example', /must be origins such as/],
  ['CORS_ORIGINS', 'https://*.*.a.example https://*.a.example:*', /must be origins such as/],
  ['CORS_ORIGINS', 'http://localhost:3*', /must be origins such as/],
  ['WORKFLOW_ACTIONS', 'RESTART,upgradeToHQ ,', /list of .*\bRESTART, /],
  [
    'IDEMPOTENCY_STORE',
    'file: mysql://host redis:host postgres://host:port/db',
    /must be memory, file:PATH/,
  ],
  [
    'IDEMPOTENCY_STORE',
    'postgres://u:secret@a,b/db postgres://a:5432,b:5432/db postgres://a,b?target_session_attrs=any redis://a,b',
    /must name one host/,
  ],
  ['IDEMPOTENCY_STORE', 'postgres://u@/db?host=a,b postgres:///db?host=a,b', /must name one host/],
  [
    'IDEMPOTENCY_STORE',
    'postgres://u:secret@/db redis://:secret@/0 postgres:///db redis:///0',
    /must name a host, or the directory/,
  ],
  [
    'JWT_AUDIENCE',
    'ledger,"web" "ledger “ledger” ["ledger","web"]',
    /must be separated by commas, without quotes or brackets/,
  ],
  [
    'IDEMPOTENCY_STORE',
    'redis://:a%b@host rediss://u%:b@host/1 postgres://u:a%b@host/db',
    /must write a % in the user name or the password as %25/,
  ],
  [
    'IDEMPOTENCY_STORE',
    'postgres://u:1?secret@h/db postgres://u:1/secret@h/db redis://:a#secret@h postgres://u:p?a=secret@h/db',
    /must write \/, \? and # in the user name and the password as %2F, %3F and %23/,
  ],
  ['IDEMPOTENCY_STORE', 'redis://host/keys redis://host/0/1', /end with the number of a database/],
  [
    'IDEMPOTENCY_STORE',
    'postgres://h/db?channel_binding=require',
    /must not have the parameter channel_binding, .* Write enableChannelBinding=true/,
  ],
  [
    'IDEMPOTENCY_STORE',
    'postgres://h/db?target_session_attrs=standby postgres://h/db?sslmode=require&sslcrl=/crl.pem',
    /must not have the parameter (target_session_attrs|sslcrl), which is unknown or has no effect/,
  ],
  [
    'IDEMPOTENCY_STORE',
    'postgres://u:secret@h/db?sslmod=verify-full postgres://h/db?a=secret&sslmode=disable postgres://h/db?constructor',
    /must not have the parameter (sslmod|a|constructor), which is unknown or has no effect with this value$/,
  ],
  ['IDEMPOTENCY_STORE', 'redis://h/0?db=1 rediss://h?x', /must not have parameters/],
  ['IDEMPOTENCY_STORE_FILE', '/nowhere', /a readable file with a value of .*_STORE: ENOENT$/],
  ['COMPRESSION', 'true', /on or off/],
  ['MAX_WRITES_PER_OPERATION', '0', /integer/],
  ['SHUTDOWN_DELAY_MS', 'x', /whole milliseconds/],
  ['SHUTDOWN_TIMEOUT_MS', '0', /whole milliseconds/],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector', /http\(s\) URL/],
  ['LOG_LEVEL', 'loud', /fatal, error, warn/],
])('the error for %s=%s describes the valid values', (name, values, description) => {
  for (const value of values.split(' ')) {
    const [problem = '', ...others] = problemsOf({ ...required, [name]: value });
    expect([value, others]).toEqual([value, []]);
    expect(problem).toMatch(description);
    expect(problem).toMatch(new RegExp(`^${name} `));
    expect(problem).not.toContain('secret');
  }
});

const file = fileURLToPath(new URL('../../package.json', import.meta.url));

test.each<[what: string, variables: Record<string, string>, problems: string[]]>([
  [
    'every missing variable',
    { UPSTREAM_BASE_URL: '', JWT_JWKS_URL: '', JWT_ISSUER: '', JWT_AUDIENCE: '' },
    ['UPSTREAM_BASE_URL is required', 'JWT_ISSUER is required', 'JWT_AUDIENCE is required'],
  ],
  [
    'every invalid variable',
    { PORT: ' 80', LOG_LEVEL: 'x', JWT_ISSUER: '', EXPLORER: 'x' },
    ['PORT', 'JWT_ISSUER', 'EXPLORER', 'LOG_LEVEL'],
  ],
  [
    'both a URL and a file for the keys',
    { JWT_JWKS_FILE: file },
    ['JWT_JWKS_FILE must be a readable file', 'set JWT_JWKS_URL or JWT_JWKS_FILE, not both'],
  ],
  [
    'a file for the keys that cannot be read',
    { JWT_JWKS_URL: '', JWT_JWKS_FILE: '/nowhere/jwks.json' },
    ['JWT_JWKS_FILE must be a readable file'],
  ],
  [
    'a mode without trusted documents',
    { TRUSTED_DOCUMENTS_MODE: 'log' },
    ['TRUSTED_DOCUMENTS_MODE requires TRUSTED_DOCUMENTS'],
  ],
  ['a subject without a record', { AUDIT_SUBJECT: 'sub' }, ['AUDIT_SUBJECT requires AUDIT']],
  [
    'an unknown subject',
    { AUDIT: 'stdout', AUDIT_SUBJECT: 'none' },
    ['AUDIT_SUBJECT must be hash, sub or both'],
  ],
  ['an empty list of issuers', { JWT_ISSUER: ' , ' }, ['JWT_ISSUER must not be empty']],
])('the error names %s', (_, variables, problems) => {
  const found = problemsOf({ ...required, ...variables }).sort();
  expect(found).toEqual(problems.sort().map((problem) => expect.stringContaining(problem)));
});

test('without keys, the issuers must be URLs, so that their keys can be found by discovery', () => {
  const variables = { ...required, JWT_JWKS_URL: '' };
  expect(problemsOf(variables)).toEqual([
    expect.stringMatching(/^JWT_ISSUER must be http\(s\) URLs/),
  ]);
  const issuers = 'https://a.example, https://b.example/tenant';
  const config = readConfig({ ...variables, JWT_ISSUER: issuers });
  const expected = ['https://a.example', 'https://b.example/tenant'].map((issuer) => ({
    issuer,
    audiences: ['gateway'],
    keys: undefined,
  }));
  expect(config.jwt.issuers).toEqual(expected);
});

test('commas in the password or in the path of a store are no list of hosts', () => {
  const values = 'postgres://u:a,b@host/db redis://:a,b@host/0 postgres://host/a,b file:a,b';
  for (const store of values.split(' ')) {
    const config = readConfig({ ...required, IDEMPOTENCY_STORE: store });
    expect(config.idempotency.store).toBe(store);
  }
});

test('parameters of PostgreSQL that ask for nothing else than what is done, and a socket, are accepted', () => {
  const values = `postgres://h/db?channel_binding=prefer&target_session_attrs=read-write&sslmode=verify-full
    postgres://h/db?enableChannelBinding=true postgres://u@/db?host=/run/postgresql postgres://%2Frun/db
    postgres:///db?host=/run/postgresql postgres://h/db?connect_timeout=10&application_name=a`;
  for (const store of values.split(/\s+/)) {
    const config = readConfig({ ...required, IDEMPOTENCY_STORE: store });
    expect(config.idempotency.store).toBe(store);
  }
});

test('the store may be in a file, whose text is not shown', async () => {
  const file = await temporaryFile('redis://user:secret@redis.example\n');
  const variables = { ...required, IDEMPOTENCY_STORE_FILE: file };
  expect(readConfig(variables).idempotency.store).toBe('redis://user:secret@redis.example');
  expect(problemsOf({ ...variables, IDEMPOTENCY_STORE: 'memory' })).toEqual([
    'set IDEMPOTENCY_STORE or IDEMPOTENCY_STORE_FILE, not both',
  ]);
  writeFileSync(file, 'secret');
  expect(problemsOf(variables)).toEqual([
    'IDEMPOTENCY_STORE_FILE must be a readable file with a value of IDEMPOTENCY_STORE',
  ]);
  writeFileSync(file, 'postgres://user:secret@a:5432,b:5432/db\n');
  expect(problemsOf(variables)).toEqual([
    expect.stringMatching(/^IDEMPOTENCY_STORE_FILE must name one host(?!.*secret)/),
  ]);
});

test.each([
  ['UPSTREAM_TIMEOUT', 'UPSTREAM_TIMEOUT_MS'],
  ['JWT_ISSUERS', 'JWT_ISSUERS_FILE'],
  ['JWT_JWKS_URI', 'JWT_JWKS_URL'],
  ['MAX_WRITES', 'MAX_WRITES_PER_OPERATION'],
  ['IDEMPOTENT_STORE', 'IDEMPOTENCY_STORE'],
  ['UPSTRAEM_BASE_URL', 'UPSTREAM_BASE_URL'],
  ['CORS_ORIGIN', 'CORS_ORIGINS'],
  ['TRACE_DOCUMENTS', undefined],
  ['AWS_TYP', undefined],
  ['CI_COMMIT', undefined],
  ['APP_LOG_LEVEL', undefined],
])('%s is reported as a misspelling of %s', (name, meant) => {
  const problem = `${name} is unknown. Did you mean ${meant}?`;
  expect(problemsOf({ ...required, [name]: '1' })).toEqual(meant === undefined ? [] : [problem]);
});

test.each(['JWT_REQUIRED_SCOPES', 'IDEMPOTENCY_REDIS_URL', 'UPSTREAM_RETRIES', 'TRUSTED_PROXIES'])(
  '%s begins like a variable of the gateway, and is reported with those that there are',
  (name) => {
    const [problem = '', ...others] = problemsOf({ ...required, [name]: '1' });
    expect(others).toEqual([]);
    const prefix = `${name.split('_')[0]}_`;
    expect(problem).toMatch(
      new RegExp(`^${name} is unknown. Known are ${prefix}\\w+(, ${prefix}\\w+)+$`),
    );
  },
);

test('variables of OpenTelemetry without effect are named, and those that it reads itself are not', () => {
  const names =
    'OTEL_EXPORTER_OTLP_PROTOCOL OTEL_METRICS_EXPORTER OTEL_BSP_SCHEDULE_DELAY OTEL_SPAN_EVENT_COUNT_LIMIT OTEL_ATTRIBUTE_COUNT_LIMIT'.split(
      ' ',
    );
  const read = 'OTEL_SERVICE_NAME OTEL_TRACES_SAMPLER_ARG OTEL_EXPORTER_OTLP_TRACES_HEADERS';
  const all = [...names, ...read.split(' ')].map((name) => [name, '1']);
  const { warnings } = readConfig({ ...required, ...Object.fromEntries(all) });
  expect(warnings.withoutEffect).toEqual(names);
});

test.each([
  [{}, undefined],
  [{ UPSTREAM_TIMEOUT_MS: '10000' }, 50_000],
  [{ SHUTDOWN_TIMEOUT_MS: '50000' }, 50_000],
  [{ SHUTDOWN_TIMEOUT_MS: '50001' }, undefined],
  [{ MAX_WRITES_PER_OPERATION: '1' }, undefined],
  [{ MAX_WRITES_PER_OPERATION: '1', UPSTREAM_TIMEOUT_MS: '15000' }, 15_000],
])(
  'with %j, a mutation of %j ms is reported to be longer than the shutdown',
  (variables, mutationMs) => {
    const { warnings, shutdownTimeoutMs } = readConfig({ ...required, ...variables });
    const expected = mutationMs === undefined ? undefined : { mutationMs, shutdownTimeoutMs };
    expect(warnings.shortShutdown).toEqual(expected);
  },
);

test.each([
  ['JWT_AUDIENCE', '"api://ledger"'],
  ['JWT_AUDIENCE', "'a, b'"],
  ['UPSTREAM_TIMEOUT_MS', '"5000"'],
  ['UPSTREAM_BASE_URL', '"http://service.example"'],
  ['OTEL_EXPORTER_OTLP_HEADERS', '"key=secret"'],
  ['IDEMPOTENCY_STORE', '"redis://:secret@host"'],
])('%s=%s is in quotes, which would be a part of the value', (name, value) => {
  const expected = [`${name} must not be in quotes: they would be a part of the value`];
  expect(problemsOf({ ...required, [name]: value })).toEqual(expected);
});

test('a value in quotes may have further faults, and those of others may be in quotes', () => {
  const values = { UPSTREAM_TIMEOUT_MS: '"10s"', EDITOR: '"vi"', LOG_LEVEL: '"', JWT_ISSUER: '""' };
  expect(problemsOf({ ...required, ...values })).toEqual([
    expect.stringMatching(/^JWT_ISSUER must not be in quotes/),
    expect.stringMatching(/^UPSTREAM_TIMEOUT_MS must not be in quotes/),
    expect.stringMatching(/^UPSTREAM_TIMEOUT_MS must be .* not "10s"$/),
    expect.stringMatching(/^LOG_LEVEL must be/),
    'JWT_ISSUER is required',
  ]);
});

test.each(['0.0.0.0', '::', '::1', 'fe80::1%eth0', 'localhost', 'ledger-gateway.internal', 'a_b'])(
  'HOST may be %s',
  (HOST) => expect(readConfig({ ...required, HOST }).http.host).toBe(HOST),
);

test('variables of others are ignored', () => {
  const names =
    'HOSTNAME PATH UPSTREAM_SERVICE_HOST UPSTREAM_SERVICE_PORT_HTTP UPSTREAM_PORT UPSTREAM_PORT_80_TCP_ADDR LOG_FORMAT npm_config_loglevel';
  const otel = 'OTEL_SERVICE_NAME OTEL_EXPORTER_OTLP_HEADERS';
  for (const name of `${names} ${otel}`.split(' ')) {
    expect(problemsOf({ ...required, [name]: '1' })).toEqual([]);
  }
});

const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://t:4318/own' };
test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318/otel' }, 'http://c:4318/otel/v1/traces'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c:4318', ...traces }, 'http://t:4318/own'],
  [{ ...traces, OTEL_SDK_DISABLED: 'True' }, undefined],
  [{ ...traces, OTEL_SDK_DISABLED: '1' }, 'http://t:4318/own'],
])('with %j, traces are sent to %s', (variables, endpoint) => {
  expect(readConfig({ ...required, ...variables }).tracing.endpoint?.href).toBe(endpoint);
});

test('the settings for the log hold nothing secret, and the paths of files', async () => {
  const headers = await temporaryFile('x-key: secret-3');
  const store = await temporaryFile('postgres://user:secret-1@db.example/keys');
  const documents = await temporaryFile('{"secret-4":"{ glCodes }"}');
  const settings = settingsOf(
    readConfig({
      ...required,
      UPSTREAM_BASE_URL: 'https://service.example/secret-5/',
      IDEMPOTENCY_STORE_FILE: store,
      UPSTREAM_HEADERS_FILE: headers,
      TRUSTED_DOCUMENTS: documents,
      TRUSTED_DOCUMENTS_MODE: 'log',
      EXPLORER_HEADERS: '{"authorization":"Bearer secret-2"}',
    }),
  );
  expect(JSON.stringify(settings)).not.toContain('secret-');
  expect(settings).toMatchObject({
    UPSTREAM_BASE_URL: 'https://service.example',
    UPSTREAM_HEADERS_FILE: { path: headers, names: ['x-key'] },
    TRUSTED_DOCUMENTS: [{ path: documents, size: 1 }],
    TRUSTED_DOCUMENTS_MODE: 'log',
    IDEMPOTENCY_STORE: 'postgres',
    IDEMPOTENCY_STORE_FILE: store,
    IDEMPOTENCY_LOSS_QUARANTINE_S: 120,
    EXPLORER_HEADERS: ['authorization'],
    JWT_ISSUER: ['issuer'],
    JWT_JWKS_URL: 'https://issuer.example',
  });
  const inVariable = { ...required, IDEMPOTENCY_STORE: 'redis://:secret-6@host' };
  expect(settingsOf(readConfig(inVariable))).toMatchObject({ IDEMPOTENCY_STORE: 'redis' });
});

test('the settings show the texts of these variables, which are no secrets, and of no others', async () => {
  const texts = [
    ...['secret', 'file:secret', '{"name":"secret"}', 'https://service.example/secret'],
    await temporaryFile('name: secret'),
  ];
  const isShown = (name: string) =>
    texts.some((text) => {
      const variables = { ...required, [name]: text };
      if (problemsOf(variables).length > 0) return false;
      return JSON.stringify(settingsOf(readConfig(variables))).includes('secret');
    });
  expect(Object.keys(variables).filter(isShown)).toEqual([
    'HOST',
    'UPSTREAM_UNIQUE_PARAM',
    'UPSTREAM_CSV_OPTION_PARAM',
    'FORWARD_HEADERS',
    'JWT_ISSUER',
    'JWT_AUDIENCE',
    'JWT_TYP',
    'AUDIT',
    'GIT_COMMIT',
  ]);
});

test('the variables for TLS are checked, alone and together', async () => {
  const [ca, oldCa] = await Promise.all([createPrivateCa(), createPrivateCa(expired)]);
  const [one, two, old] = await Promise.all([
    ca.issue('one'),
    ca.issue('two'),
    ca.issue('old', expired),
  ]);
  const CA = 'UPSTREAM_TLS_CA_FILE';
  const CERT = 'UPSTREAM_TLS_CERT_FILE';
  const KEY = 'UPSTREAM_TLS_KEY_FILE';
  const https = { ...required, UPSTREAM_BASE_URL: 'https://service.example/' };
  const pairOf = ({ certFile, keyFile }: typeof one) => ({ [CERT]: certFile, [KEY]: keyFile });
  const pair = { ...https, ...pairOf(one) };
  const { service } = readConfig({ ...pair, [CA]: ca.certFile });
  expect(service.tls).toEqual({ ca: ca.cert, cert: one.cert, key: one.key });
  const settings = settingsOf(readConfig(pair));
  expect(settings).toMatchObject(pairOf(one));
  expect(JSON.stringify(settings)).not.toContain('BEGIN');

  const oldPair = { ...https, ...pairOf(old) };
  expect(problemsOf({ ...oldPair, [CA]: oldCa.certFile })).toEqual([
    `${CA} expired at 2021-01-01T00:00:00.000Z`,
    `${CERT} expired at 2021-01-01T00:00:00.000Z`,
  ]);
  writeFileSync(old.certFile, `${one.cert}\n${old.cert}`); // A chain with an expired certificate.
  const other = { ...required, ...pairOf(one) };
  for (const [variables, problem] of [
    [oldPair, `${CERT} expired at 2021-01-01T00:00:00.000Z`],
    [{ ...https, [CA]: one.keyFile }, `${CA} must be a readable file with certificates in PEM`],
    [{ ...pair, [KEY]: one.certFile }, `${KEY} must be a readable file with a private key in PEM`],
    [{ ...https, [CERT]: one.certFile }, `${CERT} and ${KEY} are required together`],
    [{ ...pair, [KEY]: two.keyFile }, `${KEY} must be the key of ${CERT}`],
    [other, `UPSTREAM_BASE_URL must be https with ${CA}, _CERT_FILE or _KEY_FILE`],
  ] as const) {
    expect(problemsOf(variables)).toEqual([problem]);
  }
});

const { jwk } = await createSigningKey('key');

/** The variables of a gateway whose issuers are in a file. */
async function withIssuers(issuers: unknown, others: Record<string, string> = {}) {
  const text = typeof issuers === 'string' ? issuers : JSON.stringify(issuers);
  const ofOne = { JWT_JWKS_URL: '', JWT_ISSUER: '', JWT_AUDIENCE: '' };
  return { ...required, ...ofOne, JWT_ISSUERS_FILE: await temporaryFile(text), ...others };
}

test('issuers are read from a file, each with its own keys, audience and algorithms', async () => {
  const jwksFile = await temporaryFile(JSON.stringify({ keys: [jwk] }));
  const config = readConfig(
    await withIssuers(
      [
        { issuer: 'https://a.example/', audience: 'ledger' },
        {
          issuer: 'b',
          audience: ['x', 'y'],
          jwksUrl: 'https://keys.example/b',
          algorithms: ['ES256'],
        },
        { issuer: 'c', audience: 'app', jwksFile, audienceClaim: 'client_id' },
        { issuer: 'https://d.example/{tenantid}', audience: 'ledger', tenants: ['t1', 't2'] },
      ],
      { JWT_ALGORITHMS: 'RS256' },
    ),
  );
  const template = 'https://d.example/{tenantid}';
  expect(config.jwt).toMatchObject({
    algorithms: ['RS256'],
    issuers: [
      { issuer: 'https://a.example/', audiences: ['ledger'], keys: undefined },
      {
        issuer: 'b',
        audiences: ['x', 'y'],
        keys: new URL('https://keys.example/b'),
        algorithms: ['ES256'],
      },
      { issuer: 'c', audiences: ['app'], keys: { path: jwksFile }, audienceClaim: 'client_id' },
      { issuer: 'https://d.example/t1', tenant: { id: 't1', template }, keys: undefined },
      { issuer: 'https://d.example/t2', tenant: { id: 't2', template }, keys: undefined },
    ],
  });
  const { JWT_ISSUERS_FILE: shown } = settingsOf(config);
  expect(shown?.issuers).toMatchObject([
    { issuer: 'https://a.example/', keys: 'discovery' },
    { issuer: 'b', keys: 'https://keys.example' },
    { issuer: 'c', keys: jwksFile },
    {},
    {},
  ]);
});

const issuer = 'https://a.example';
const audience = 'ledger';

test.each<[string, issuers: unknown, fault: string | RegExp]>([
  ['no JSON', '[{]', /is not JSON/],
  ['a key twice', '[{"issuer":"a","issuer":"b"}]', 'has the key "issuer" twice'],
  ['no list', {}, 'must be a list'],
  ['no issuer', [], 'must not be empty'],
  [
    'a missing issuer and audience',
    [{}],
    /^\[0\]\.issuer: must be a text; \[0\]\.audience: must be a text, or a list of texts$/,
  ],
  ['an empty audience', [{ issuer, audience: [] }], '[0].audience: must not be empty'],
  [
    'blanks and quotes, which no token has',
    [{ issuer: ` ${issuer}`, audience: ['a', '"b"'], audienceClaim: 'c ' }],
    ['issuer', 'audience[1]', 'audienceClaim']
      .map((key) => `[0].${key}: must not begin or end with a blank or a quote`)
      .join('; '),
  ],
  [
    'a misspelled key',
    [{ issuer, audience, jwks_url: 'x' }],
    '[0].jwks_url: is unknown. Did you mean jwksUrl?',
  ],
  [
    'a URL without scheme',
    [{ issuer, audience, jwksUrl: 'a.example' }],
    '[0].jwksUrl: must be an http(s) URL',
  ],
  [
    'a shared secret',
    [{ issuer, audience, algorithms: ['HS256'] }],
    /^\[0\]\.algorithms\[0\]: must be RS256, /,
  ],
  ...['sub', 'aud', 'jti'].map((audienceClaim): [string, unknown, string] => [
    `the claim ${audienceClaim} as the audience`,
    [{ issuer, audience, audienceClaim }],
    '[0].audienceClaim: must name an application, as client_id does',
  ]),
  ['no algorithm', [{ issuer, audience, algorithms: [] }], '[0].algorithms: must not be empty'],
  [
    'two places of keys',
    [{ issuer, audience, jwksUrl: issuer, jwksFile: 'x' }],
    '[0]: set jwksUrl or jwksFile, not both',
  ],
  [
    'no place of keys',
    [{ issuer: 'a', audience }],
    /^\[0\]: issuer must be an http\(s\) URL, unless/,
  ],
  [
    'no tenants',
    [{ issuer: `${issuer}/{tenantid}`, audience }],
    '[0]: {tenantid} in issuer and tenants are required together',
  ],
  [
    'tenants without a place',
    [{ issuer, audience, tenants: ['a'] }],
    '[0]: {tenantid} in issuer and tenants are required together',
  ],
  [
    'another placeholder',
    [{ issuer: `${issuer}/{tenant}`, audience }],
    '[0]: issuer must have no braces other than {tenantid}',
  ],
  [
    'a path as a tenant',
    [{ issuer: `${issuer}/{tenantid}`, audience, tenants: ['../a'] }],
    '[0].tenants[0]: must be the id of a tenant',
  ],
  [
    'an issuer twice',
    [
      { issuer, audience },
      { issuer, audience: 'b' },
    ],
    `has the issuer ${issuer} twice`,
  ],
  [
    'a tenant that is an issuer, too',
    [
      { issuer: `${issuer}/a`, audience },
      { issuer: `${issuer}/{tenantid}`, audience, tenants: ['a'] },
    ],
    `has the issuer ${issuer}/a twice`,
  ],
])('a file with issuers that has %s is rejected', async (_, issuers, fault) => {
  const [problem = '', ...others] = problemsOf(await withIssuers(issuers));
  expect(others).toEqual([]);
  const prefix = 'JWT_ISSUERS_FILE must be a list of issuers: ';
  expect(problem.slice(0, prefix.length)).toBe(prefix);
  expect(problem.slice(prefix.length)).toEqual(
    typeof fault === 'string' ? fault : expect.stringMatching(fault),
  );
});

test('a file with issuers replaces the variables of one issuer, and the files of keys in it are checked', async () => {
  const issuers = [{ issuer, audience }];
  for (const name of ['JWT_ISSUER', 'JWT_AUDIENCE', 'JWT_JWKS_URL']) {
    expect(problemsOf(await withIssuers(issuers, { [name]: 'https://a.example' }))).toEqual([
      expect.stringMatching(
        /^JWT_ISSUERS_FILE replaces JWT_ISSUER, JWT_AUDIENCE, .*: remove them$/,
      ),
    ]);
  }
  const jwksFile = await temporaryFile('{"keys":[]}');
  expect(
    problemsOf(
      await withIssuers([
        { issuer: 'b', audience, jwksFile },
        { issuer: 'c', audience, jwksFile: '/nowhere' },
      ]),
    ),
  ).toEqual([
    `JWT_ISSUERS_FILE names ${jwksFile}, which must be a readable file with a JSON Web Key Set: no keys`,
    'JWT_ISSUERS_FILE names /nowhere, which must be a readable file with a JSON Web Key Set: ENOENT',
  ]);
  expect(
    problemsOf({
      ...required,
      JWT_ISSUERS_FILE: '/nowhere',
      JWT_ISSUER: '',
      JWT_AUDIENCE: '',
      JWT_JWKS_URL: '',
    }),
  ).toEqual(['JWT_ISSUERS_FILE must be a readable file with a list of issuers: ENOENT']);
});
