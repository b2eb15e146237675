import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { createServer, type ServerOptions } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, jest, test } from '@jest/globals';
import { readCommand } from '../../src/command-line.ts';
import { checkIssuer } from '../../src/connect/issuer-check.ts';
import { createPrivateCa, expired } from '../../testkit/certificate.ts';
import { environmentFor } from '../../testkit/environment.ts';
import { listen } from '../../testkit/http-server.ts';
import { freePort } from '../../testkit/port.ts';
import { isPostgresInstalled, startPostgres } from '../../testkit/postgres.ts';
import { startProcess } from '../../testkit/process.ts';
import { isRedisInstalled, startRedis } from '../../testkit/redis.ts';
import { json, type Reply, reply, startService } from '../../testkit/service.ts';
import { startTcp } from '../../testkit/tcp-server.ts';
import { temporaryFile, temporaryFolder } from '../../testkit/temporary-folder.ts';
import { createSigningKey } from '../support/signing-key.ts';

/** Node's own global object. */
declare const native: typeof globalThis;

const options = ['--check-config', '--connect'];

/** The faults that are found in the connections. */
async function faultsOf(url: string, variables: Record<string, string> = {}): Promise<string[]> {
  const env = await environmentFor({ url }, variables);
  try {
    const command = await readCommand(options, env);
    expect(command).toEqual({ text: expect.stringContaining('"connections": "all reached"') });
    return [];
  } catch (error) {
    const [head, ...faults] = String(error).split('\n');
    expect(head).toBe('ConfigError: The configuration does not work here:');
    return faults.map((fault) => fault.trim());
  }
}

/** A service that rejects a request without a token. */
const startAvailable = () => startService(reply(401));

test('the service is reached by one read without a token', async () => {
  const service = await startAvailable();
  const file = await temporaryFile('x-key: secret');
  expect(await faultsOf(`${service.url}api/`, { UPSTREAM_HEADERS_FILE: file })).toEqual([]);
  expect(service.received).toMatchObject([
    { method: 'GET', url: expect.stringMatching(/^\/api\/getGLCodes5\?/), body: '' },
  ]);
  const [{ headers } = { headers: {} }] = service.received;
  expect(headers).toMatchObject({ 'x-key': 'secret' });
  expect(headers).not.toHaveProperty('authorization');
});

test.each<[string, Reply, RegExp]>([
  [
    '404',
    reply(404),
    /there is no getGLCodes5 below the path \/api\/ \(status 404\)\. Write the address/,
  ],
  [
    '301',
    reply(301, '', { location: 'https://b.example/x?secret' }),
    /it redirects to https:\/\/b\.example\. Write/,
  ],
  [
    '503',
    reply(503),
    /a proxy responds there, but the service does not \(status 503\)\. Start the service/,
  ],
  [
    'no HTTP',
    (response) => response.socket?.end('hello\r\n'),
    /does not speak HTTP\. Write https:\/\/ if the port has TLS/,
  ],
])('a service that responds with %s is a fault', async (_, respond, fault) => {
  const service = await startService(respond);
  const { origin } = new URL(service.url);
  expect(await faultsOf(`${service.url}api/`)).toEqual([expect.stringMatching(fault)]);
  expect(await faultsOf(`${service.url}api/`)).toEqual([
    expect.stringContaining(`UPSTREAM_BASE_URL ${origin}: `),
  ]);
});

test.each([200, 400, 401, 403, 500])('a service with the status %d is reached', async (status) => {
  const service = await startService(reply(status));
  expect(await faultsOf(service.url)).toEqual([]);
});

test('a port where nothing listens, a name that does not resolve, and ports with and without TLS are told apart', async () => {
  const closed = `http://127.0.0.1:${await freePort()}`;
  expect(await faultsOf(`${closed}/`)).toEqual([
    `UPSTREAM_BASE_URL ${closed}: nothing listens there. Write the port at which the server listens (ECONNREFUSED)`,
  ]);
  expect(await faultsOf('http://service.invalid/')).toEqual([
    expect.stringMatching(
      /^UPSTREAM_BASE_URL http:\/\/service\.invalid: its name does not resolve from here\. .* \((ENOTFOUND|EAI_AGAIN)\)$/,
    ),
  ]);
  const plain = await startTcp((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
  expect(await faultsOf(plain.httpsUrl)).toEqual([
    expect.stringMatching(/: the port has no TLS\. Write http:\/\/, or the port that has TLS/),
  ]);
});

test('a service that does not respond within 5 s is a fault', async () => {
  const late = new AbortController();
  const timeout = jest.spyOn(native.AbortSignal, 'timeout').mockReturnValueOnce(late.signal);
  const service = await startService(() => late.abort(new DOMException('', 'TimeoutError')));
  expect(await faultsOf(service.url)).toEqual([
    expect.stringMatching(
      /^UPSTREAM_BASE_URL \S+ it does not respond\. Check .* \(TimeoutError\)$/,
    ),
  ]);
  expect(timeout).toHaveBeenCalledWith(5000);
});

describe('with TLS', () => {
  /** A service with a certificate of a private CA. */
  async function startTls(options: (ca: string) => ServerOptions = () => ({}), validity = {}) {
    const [ca, otherCa] = await Promise.all([createPrivateCa(), createPrivateCa()]);
    const { cert, key } = await ca.issue('service', validity);
    const server = createServer({ cert, key, ...options(ca.cert) }, (_, response) => {
      response.writeHead(401).end();
    });
    return { ca, otherCa, port: await listen(server) };
  }
  const withCa = (certFile: string) => ({ UPSTREAM_TLS_CA_FILE: certFile });

  test('a CA that is not known, or the wrong one, is a fault of UPSTREAM_TLS_CA_FILE', async () => {
    const { ca, otherCa, port } = await startTls();
    const url = `https://127.0.0.1:${port}/`;
    expect(await faultsOf(url, withCa(ca.certFile))).toEqual([]);
    for (const variables of [{}, withCa(otherCa.certFile)]) {
      expect(await faultsOf(url, variables)).toEqual([
        expect.stringMatching(
          /^UPSTREAM_TLS_CA_FILE: its CA .* the certificate of https:\/\/127\.0\.0\.1:\d+\. Name a file/,
        ),
      ]);
    }
  });

  test('a name that the certificate does not have, and an expired certificate, are faults', async () => {
    const { ca, port } = await startTls();
    expect(await faultsOf(`https://localhost:${port}/`, withCa(ca.certFile))).toEqual([
      expect.stringMatching(/its certificate has another name\. Write a name of the certificate/),
    ]);
    const old = await startTls(undefined, expired);
    expect(await faultsOf(`https://127.0.0.1:${old.port}/`, withCa(old.ca.certFile))).toEqual([
      expect.stringMatching(/its certificate is not valid now\..*CERT_HAS_EXPIRED/),
    ]);
  });

  test('a service that asks for a certificate is a fault of UPSTREAM_TLS_CERT_FILE', async () => {
    const mutual = (ca: string) => ({ ca, requestCert: true, rejectUnauthorized: true });
    const { ca, otherCa, port } = await startTls(mutual);
    const url = `https://127.0.0.1:${port}/`;
    const [right, wrong] = await Promise.all([ca.issue('gateway'), otherCa.issue('gateway')]);
    const pair = ({ certFile, keyFile }: typeof right) => ({
      ...withCa(ca.certFile),
      UPSTREAM_TLS_CERT_FILE: certFile,
      UPSTREAM_TLS_KEY_FILE: keyFile,
    });
    expect(await faultsOf(url, pair(right))).toEqual([]);
    expect(await faultsOf(url, withCa(ca.certFile))).toEqual([
      expect.stringMatching(/^UPSTREAM_TLS_CERT_FILE: \S+ asks for a certificate\. Name a file/),
    ]);
    expect(await faultsOf(url, pair(wrong))).toEqual([
      expect.stringMatching(
        /Perhaps it asks for a certificate \(UPSTREAM_TLS_CERT_FILE\), or does not/,
      ),
    ]);
  });
});

test('each issuer whose keys cannot be fetched is a fault, with what to write instead', async () => {
  const service = await startAvailable();
  const closed = `http://127.0.0.1:${await freePort()}`;
  const issuer = await startService((response, received) => {
    const named = { renamed: 'https://b.example', common: 'https://b.example/{tenantid}' };
    const name = Object.entries(named).find(([path]) => received.url.includes(path))?.[1];
    return (name ? json({ issuer: name }) : reply(404))(response, received);
  });
  const discovered = {
    JWT_JWKS_URL: '',
    JWT_ISSUER: `${issuer.url}a, ${issuer.url}renamed, ${issuer.url}common, ${closed}`,
  };
  expect(await faultsOf(service.url, discovered)).toEqual([
    expect.stringMatching(
      /^JWT_ISSUER http:\S+a: .*status 404\. Correct JWT_ISSUER, or set JWT_JWKS_URL to the address of the keys$/,
    ),
    expect.stringMatching(
      /^JWT_ISSUER http:\S+renamed: .*names the issuer https:\/\/b\.example\. Write exactly this issuer in JWT_ISSUER/,
    ),
    expect.stringMatching(
      /^JWT_ISSUER http:\S+common: .*Name a file in JWT_ISSUERS_FILE that lists the tenants/,
    ),
    expect.stringMatching(
      /^JWT_ISSUER http:\S+: \S+: ECONNREFUSED: nothing listens there\. Write .* listens$/,
    ),
  ]);
  const JWT_JWKS_URL = `${issuer.url}keys?secret=1`;
  const [fault, ...others] = await faultsOf(service.url, { JWT_JWKS_URL });
  expect(others).toEqual([]);
  const remedy = 'Write the address of a JSON Web Key Set in JWT_JWKS_URL';
  expect(fault).toBe(`JWT_JWKS_URL: ${issuer.url}keys: status 404. ${remedy}`);
  const html = await startService(reply(200, '<html>'));
  expect(await faultsOf(service.url, { JWT_JWKS_URL: html.url })).toEqual([
    `JWT_JWKS_URL: ${html.url}: not JSON. ${remedy}`,
  ]);
  expect(fault).not.toContain('secret');

  const file = JSON.stringify([{ issuer: `${issuer.url}a`, audience: 'ledger' }]);
  const ofFile = {
    JWT_JWKS_URL: '',
    JWT_ISSUER: '',
    JWT_AUDIENCE: '',
    JWT_ISSUERS_FILE: await temporaryFile(file),
  };
  expect(await faultsOf(service.url, ofFile)).toEqual([
    expect.stringMatching(
      /^JWT_ISSUERS_FILE http:\S+a: .*Correct JWT_ISSUERS_FILE, or set jwksUrl/,
    ),
  ]);
});

/** The variables of a gateway with these issuers. */
async function withIssuers(issuers: object[]) {
  const ofOne = { JWT_JWKS_URL: '', JWT_ISSUER: '', JWT_AUDIENCE: '' };
  return { ...ofOne, JWT_ISSUERS_FILE: await temporaryFile(JSON.stringify(issuers)) };
}

test('an issuer whose keys are all for other algorithms is a fault', async () => {
  const [service, { jwk }] = [await startAvailable(), await createSigningKey('ES256')];
  const ofServer = (await startService(json({ keys: [jwk] }))).url;
  const ofFile = await temporaryFile(JSON.stringify({ keys: [jwk, { ...jwk, alg: 'ES256' }] }));
  const [issuer, audience] = ['https://a.example', 'ledger'];
  const other = { issuer: 'https://b.example', audience };
  const algorithms = ['RS256', 'ES384'];
  const issuers = [
    { issuer, audience, jwksUrl: ofServer, algorithms },
    { ...other, jwksFile: ofFile },
  ];
  const variables = await withIssuers(issuers);
  expect(await faultsOf(service.url, variables)).toEqual([
    `algorithms RS256, ES384: the keys of ${issuer} are for other algorithms. Write one of ES256`,
  ]);
  expect(
    await faultsOf(service.url, { ...variables, JWT_ALGORITHMS: 'PS256,RS512' }),
  ).toContainEqual(
    'JWT_ALGORITHMS PS256, RS512: the keys of https://b.example are for other algorithms. Write one of ES256',
  );
});

test.each([
  ['https://a.example', 'http://keys.invalid/', true],
  ['http://a.example', 'http://keys.invalid/', false],
  ['https://a.example', 'https://keys.invalid/', false],
  ['https://a.example', 'http://localhost:1/', false],
  ['https://a.example', 'http://127.0.0.1:1/', false],
  ['https://a.example', 'http://[::1]:1/', false],
])('the keys of %s at %s are reported as exposed: %j', async (issuer, address, isExposed) => {
  const { hints } = await checkIssuer(
    { issuer, audiences: ['ledger'], keys: new URL(address) },
    { issuer: 'JWT_ISSUER', url: 'JWT_JWKS_URL' },
    ['RS256'],
  );
  const words = `JWT_JWKS_URL of ${issuer}: the keys are fetched without TLS.`;
  expect(hints).toEqual(isExposed ? [expect.stringContaining(words)] : []);
});

test('a port that is in use, and an address of another machine, are faults', async () => {
  const service = await startAvailable();
  const taken = new URL((await startTcp(() => {})).url).port;
  const free = String(await freePort());
  expect(await faultsOf(service.url, { PORT: taken, ADMIN_PORT: free })).toEqual([
    `PORT ${taken}: it is in use. Write a free port, or end the process that listens there (EADDRINUSE)`,
  ]);
  expect(await faultsOf(service.url, { PORT: free, ADMIN_PORT: taken })).toEqual([
    expect.stringMatching(`^ADMIN_PORT ${taken}: it is in use`),
  ]);
  // An address of the documentation (RFC 5737).
  expect(await faultsOf(service.url, { HOST: '192.0.2.1' })).toEqual([
    expect.stringMatching(
      /^HOST 192\.0\.2\.1: it is no address of this machine\. Write 0\.0\.0\.0/,
    ),
  ]);
  const socket = connect(Number(free), '127.0.0.1');
  await expect(new Promise((_, reject) => socket.once('error', reject))).rejects.toThrow(
    'ECONNREFUSED',
  );
});

test('a file for keys is not created, and a folder that is missing is a fault', async () => {
  const service = await startAvailable();
  const folder = await temporaryFolder();
  const path = join(folder, 'keys.db');
  expect(await faultsOf(service.url, { IDEMPOTENCY_STORE: `file:${path}` })).toEqual([]);
  expect(existsSync(path)).toBe(false);
  const missing = join(folder, 'missing/keys.db');
  expect(await faultsOf(service.url, { IDEMPOTENCY_STORE: `file:${missing}` })).toEqual([
    `IDEMPOTENCY_STORE: The process cannot read and write the folder ${join(folder, 'missing')}: ENOENT`,
  ]);
  expect(await faultsOf(service.url, { IDEMPOTENCY_STORE: `file:${folder}` })).toEqual([
    `IDEMPOTENCY_STORE: The process cannot read and write ${folder}: it is no file`,
  ]);
  await chmod(folder, 0o500);
  if (process.getuid?.() === 0) return; // root may write everywhere.
  expect(await faultsOf(service.url, { IDEMPOTENCY_STORE: `file:${path}` })).toEqual([
    expect.stringContaining('EACCES'),
  ]);
});

test('a file for keys that another process uses is a fault, and stays as it is also after a crash', async () => {
  const service = await startAvailable();
  const path = join(await temporaryFolder(), 'keys.db');
  const check = () => faultsOf(service.url, { IDEMPOTENCY_STORE: `file:${path}` });
  const code = `
    const database = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)});
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1)');
    console.log('ready');
    setInterval(() => {}, 1000);`;
  const holder = startProcess(['-e', code]);
  await holder.line(/ready/);
  const before = filesOf(path);
  expect(await check()).toEqual([
    `IDEMPOTENCY_STORE: The idempotency store cannot open ${path}: database is locked; another process uses the file: give each gateway its own, or share a Redis or PostgreSQL`,
  ]);
  holder.signal('SIGKILL');
  await holder.exited;
  expect(await check()).toEqual([]);
  // If the log were gone, the next start would count as a loss of records.
  expect(filesOf(path)).toEqual(before);
  expect(before.map(({ size }) => size > 0)).toEqual([true, true]);
});

/** The files of a database, with what a change would change. */
function filesOf(path: string) {
  return ['', '-wal', '-shm'].flatMap((end) => {
    const { size, mtimeMs } = statSync(path + end, { throwIfNoEntry: false }) ?? {};
    return size === undefined ? [] : [{ end, size, mtimeMs }];
  });
}

test('a file of the audit record that cannot be opened is a fault, and one that is missing is not created', async () => {
  const service = await startAvailable();
  const folder = await temporaryFolder();
  const path = join(folder, 'audit.log');
  const check = (path: string) => faultsOf(service.url, { AUDIT: `file:${path}` });
  const remedy =
    'Write the path of a file to which this process can append, in a folder that exists';
  const fault = (path: string, code: string) => [
    `AUDIT: ${path} cannot be opened: ${code}. ${remedy}`,
  ];
  expect(await check(path)).toEqual([]);
  expect(existsSync(path)).toBe(false);
  const missing = join(folder, 'missing/audit.log');
  expect(await check(missing)).toEqual(fault(missing, 'ENOENT'));
  expect(await check(folder)).toEqual(fault(folder, 'EISDIR'));
  writeFileSync(path, 'a line\n');
  expect(await check(path)).toEqual([]);
  expect(readFileSync(path, 'utf8')).toBe('a line\n');
});

(isRedisInstalled ? test : test.skip)('Redis is tried, and then it is as before', async () => {
  const service = await startAvailable();
  const server = await startRedis({ args: ['--requirepass', 'right'] });
  const check = (url: string) => faultsOf(service.url, { IDEMPOTENCY_STORE: url });
  const address = `127.0.0.1:${server.port}`;
  expect(await check(`redis://:right@${address}`)).toEqual([]);
  expect(await check(`redis://:wrong@${address}`)).toEqual([
    'IDEMPOTENCY_STORE: The Redis server rejects the user or the password',
  ]);
  expect(await check(`rediss://:right@${address}`)).toEqual([
    expect.stringContaining('If the port has no TLS, write redis:// instead of rediss://'),
  ]);
  expect(await check(`redis://127.0.0.1:${await freePort()}`)).toEqual([
    'IDEMPOTENCY_STORE: No connection to Redis: ECONNREFUSED: nothing listens there. Write the port at which the server listens',
  ]);
  const { certFile, keyFile } = await (await createPrivateCa()).issue('redis');
  const tls = ['--tls-port', String(await freePort()), '--tls-auth-clients', 'no'];
  await startRedis({ args: [...tls, '--tls-cert-file', certFile, '--tls-key-file', keyFile] });
  expect(await check(`rediss://127.0.0.1:${tls[1]}`)).toEqual([
    'IDEMPOTENCY_STORE: No connection to Redis: UNABLE_TO_VERIFY_LEAF_SIGNATURE: its certificate is not from a known CA. Name a file with the CA that issued it in NODE_EXTRA_CA_CERTS',
  ]);
  const other = await startRedis({
    args: ['--maxmemory', '10mb', '--maxmemory-policy', 'allkeys-lru'],
  });
  expect(await check(other.url)).toEqual([
    expect.stringContaining('Set its maxmemory-policy to noeviction (it is allkeys-lru)'),
  ]);
  await other.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
  expect(await check(other.url)).toEqual([]);
  await other.command('ACL', 'SETUSER', 'user', 'on', '>secret', '~*', '+@all', '-hset');
  expect(await check(`redis://user:secret@127.0.0.1:${other.port}`)).toEqual([
    expect.stringMatching(/The Redis server denies its user the command hset\. /),
  ]);
  await other.command('CONFIG', 'SET', 'maxmemory', '1');
  expect(await check(other.url)).toEqual([
    expect.stringMatching(/The Redis server reports an error: OOM command not allowed/),
  ]);
  await other.command('REPLICAOF', '127.0.0.1', String(server.port));
  expect(await check(other.url)).toEqual([
    expect.stringMatching(/The Redis server is a replica\. Use the address of the primary/),
  ]);
  expect(await other.command('DBSIZE')).toBe(0);
});

(isPostgresInstalled ? test : test.skip)(
  'PostgreSQL is tried, and then it is as before',
  async () => {
    const service = await startAvailable();
    const server = await startPostgres();
    const check = (url: string) => faultsOf(service.url, { IDEMPOTENCY_STORE: url });
    const as = (role: string) => `postgres://${role}@127.0.0.1:${server.port}/postgres`;
    expect(await check(server.url)).toEqual([]);
    expect(await check('postgres://u@/db?host=/missing')).toEqual([
      'IDEMPOTENCY_STORE: No connection to PostgreSQL: ENOENT: there is no such socket. Write the directory and the port of the server',
    ]);
    expect(await server.query("SELECT to_regclass('ledger_gateway_record') AS name")).toEqual([
      { name: null },
    ]);
    await server.query('CREATE ROLE least LOGIN');
    expect((await check(as('least')))[0]).toMatch(
      /^IDEMPOTENCY_STORE: The database role may not create tables\. Execute:/,
    );
    await server.query('CREATE TABLE ledger_gateway_record (key text)');
    expect(await check(as('least'))).toEqual([
      expect.stringMatching(/the error 42703: column … does not exist$/),
    ]);
    await server.query('DROP TABLE ledger_gateway_record');
    await server.query(`CREATE TABLE ledger_gateway_record (key text PRIMARY KEY, version text,
    caller text, text text, expires_at timestamptz)`);
    expect(await check(as('least'))).toEqual([
      expect.stringMatching(
        /permission denied for table ledger_gateway_record\. The role needs SELECT, /,
      ),
    ]);
    await server.query('GRANT SELECT, INSERT, UPDATE, DELETE ON ledger_gateway_record TO least');
    expect(await check(as('least'))).toEqual([]);
    await server.query('REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC');
    expect(await check(as('least'))).toEqual([
      expect.stringMatching(/permission denied for function pg_control_system\. The role needs/),
    ]);
    await server.query('GRANT EXECUTE ON FUNCTION pg_control_system() TO PUBLIC');
    await server.query("ALTER ROLE least SET default_transaction_read_only = 'on'");
    expect(await check(as('least'))).toEqual([
      expect.stringMatching(
        /the error 25006: the server is a standby, or default_transaction_read_only/,
      ),
    ]);
    expect(await check(as('nobody'))).toEqual([
      'IDEMPOTENCY_STORE: PostgreSQL reports the error 28000: role … does not exist',
    ]);
  },
);

test('a proxy before the service is named, with what to do', async () => {
  const service = await startService(
    (response) => void response.writeHead(401, { server: 'nginx/1.22.1' }).end(),
  );
  const command = await readCommand(options, await environmentFor(service));
  const text = 'text' in command ? command.text : '';
  expect(JSON.parse(text)).toMatchObject({
    connections: 'all reached',
    hints: [expect.stringMatching(/\(server: nginx\/1\.22\.1\).* --stand-in <port> /)],
  });
});

test.each<[string, Reply, string]>([
  [
    'a login page',
    reply(200, '<html>', { 'content-type': 'text/html; charset=utf-8' }),
    '200 (text/html)',
  ],
  ['403', reply(403), '403'],
  [
    '500',
    reply(500, '{"title":"secret"}', { 'content-type': 'application/problem+json' }),
    '500 (application/problem+json)',
  ],
])('%s where a service rejects a read without a token is a hint', async (_, respond, shown) => {
  const command = await readCommand(options, await environmentFor(await startService(respond)));
  const text = 'text' in command ? command.text : '';
  expect(JSON.parse(text)).toMatchObject({
    connections: 'all reached',
    hints: [
      `The service responded with ${shown} to a read without a token, where 401 is usual. If a login page or another program responds there, write the address of the service in UPSTREAM_BASE_URL`,
    ],
  });
  expect(text).not.toContain('secret');
});

test('the command prints all faults at once, and exits with 1; otherwise it says that all was reached', async () => {
  const service = await startAvailable();
  const closed = `127.0.0.1:${await freePort()}`;
  const faulty = {
    JWT_JWKS_URL: `http://${closed}/keys`,
    IDEMPOTENCY_STORE: `redis://:secret@${closed}`,
  };
  const env = await environmentFor({ url: `http://${closed}/` }, faulty);
  const failed = startProcess(['src/main.ts', ...options], { env });
  expect(await failed.exited).toEqual({ code: 1, signal: null });
  for (const name of ['UPSTREAM_BASE_URL', 'JWT_JWKS_URL', 'IDEMPOTENCY_STORE']) {
    expect(failed.errorText()).toContain(`\n  ${name}`);
  }
  expect(failed.errorText()).not.toMatch(/secret|^\s+at /m);
  const reached = startProcess(['src/main.ts', ...options], { env: await environmentFor(service) });
  expect(await reached.exited).toEqual({ code: 0, signal: null });
  expect(JSON.parse(reached.lines.join('\n'))).toMatchObject({ connections: 'all reached' });
});
