import { X509Certificate } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { rename, writeFile } from 'node:fs/promises';
import { createServer, type ServerOptions } from 'node:https';
import { connect } from 'node:net';
import { TLSSocket } from 'node:tls';
import { beforeAll, expect, test } from '@jest/globals';
import { type CertificateFiles, createPrivateCa, expired } from '../../../testkit/certificate.ts';
import { readFilesOften } from '../../../testkit/fast-timeouts.ts';
import { startTestGateway } from '../../../testkit/gateway.ts';
import { startGatewayProcess } from '../../../testkit/gateway-process.ts';
import { read, write } from '../../../testkit/graphql-operation.ts';
import { listen, startHttpServer } from '../../../testkit/http-server.ts';
import { testIssuer } from '../../../testkit/issuer.ts';
import { metric } from '../../../testkit/metric.ts';

const status = JSON.stringify({ status: 0, service_status: { status: 0 }, list: [] });

let ca: Awaited<ReturnType<typeof createPrivateCa>>;
let otherCa: Awaited<ReturnType<typeof createPrivateCa>>;
let service: CertificateFiles;
beforeAll(async () => {
  [ca, otherCa] = await Promise.all([createPrivateCa(), createPrivateCa()]);
  service = await ca.issue('service');
});

/** Starts a service with TLS that records its clients. It also serves the keys of the tests' issuer. */
async function startTlsService(options: ServerOptions = {}) {
  const { jwks } = await testIssuer();
  const clients: { path: string; name: string; socket: TLSSocket }[] = [];
  const responses = new EventEmitter();
  const { cert, key } = service;
  const server = createServer({ cert, key, ...options }, async ({ url = '', socket }, response) => {
    if (!(socket instanceof TLSSocket)) throw new TypeError('not TLS');
    const name = String(socket.getPeerCertificate()?.subject?.CN);
    clients.push({ path: url, name, socket });
    const respond = () => response.end(url === '/keys' ? JSON.stringify(jwks) : status);
    if (!responses.emit('held', respond)) respond();
  });
  return { url: `https://127.0.0.1:${await listen(server)}/`, clients, responses, server };
}

test.each([
  ['another CA', () => ({ UPSTREAM_TLS_CA_FILE: otherCa.certFile })],
  ['the public CAs only', () => ({})],
])('with %s, nothing is sent, and the log has the reason', async (_, variables) => {
  const tlsService = await startTlsService();
  const gateway = await startTestGateway(tlsService, variables());
  const { errors } = await gateway.graphql(write);
  expect(errors?.[0]?.extensions.code).toBe('UPSTREAM_UNAVAILABLE');
  expect(tlsService.clients).toEqual([]);
  expect(await gateway.logLine({ msg: 'call' })).toMatchObject({
    fault: expect.stringMatching(/CERT|ISSUER|SIGNATURE/),
  });
});

const mutual = () => ({ ca: ca.cert, requestCert: true, rejectUnauthorized: true });

test('with mutual TLS, a renewed certificate is used by new connections; idle ones close, and a write in flight ends', async () => {
  readFilesOften();
  const [current, renewed] = await Promise.all([ca.issue('current'), ca.issue('renewed')]);
  const tlsService = await startTlsService(mutual());
  const { clients, responses } = tlsService;
  const gateway = await startTestGateway(tlsService, {
    UPSTREAM_TLS_CA_FILE: ca.certFile,
    UPSTREAM_TLS_CERT_FILE: current.certFile,
    UPSTREAM_TLS_KEY_FILE: current.keyFile,
  });
  const held = once(responses, 'held');
  const writing = gateway.graphql(write);
  const [respond] = await held;
  expect((await gateway.graphql(read)).errors).toBeUndefined();

  const idleClosed = once(clients[1]?.socket ?? new EventEmitter(), 'close');
  await rename(renewed.certFile, current.certFile);
  await gateway.logLine({
    msg: 'cannot apply changed files',
    fault: 'UPSTREAM_TLS_KEY_FILE must be the key of UPSTREAM_TLS_CERT_FILE',
  });
  expect((await gateway.graphql(read.replace('north', 'south'))).errors).toBeUndefined();
  await rename(renewed.keyFile, current.keyFile);
  await gateway.logLine({ msg: 'changed files applied' });
  await idleClosed;
  for (const query of [read, write]) expect((await gateway.graphql(query)).errors).toBeUndefined();
  respond();

  expect((await writing).data.result.__typename).toBe('WorkflowActionCompleted');
  const names = clients.map(({ name }) => name).join();
  expect(names).toBe('current,current,current,renewed,renewed');
  expect(gateway.logText()).not.toContain('PRIVATE KEY');
});

test('a private CA and its replacement are accepted, and one that has expired is not used', async () => {
  readFilesOften();
  const [old, next, dead] = await Promise.all([
    createPrivateCa(),
    createPrivateCa(),
    createPrivateCa(expired),
  ]);
  const tlsService = await startTlsService(await old.issue('service'));
  const gateway = await startTestGateway(tlsService, { UPSTREAM_TLS_CA_FILE: old.certFile });
  const expiry = () => metric(gateway, 'ledger_gateway_certificate_expiry_timestamp_seconds');
  const before = await expiry();
  expect(before).toBe(Date.parse(new X509Certificate(old.cert).validTo) / 1000);
  await rename(dead.certFile, old.certFile);
  await gateway.logLine({
    msg: 'cannot apply changed files',
    fault: `${old.certFile} expired at 2021-01-01T00:00:00.000Z`,
  });
  expect((await gateway.graphql(read)).errors).toBeUndefined();

  // An expired CA beside a valid one does no harm.
  await writeFile(old.certFile, [dead.cert, next.cert].join('\n'));
  await gateway.logLine({ msg: 'changed files applied' });
  const { cert, key } = await next.issue('service');
  tlsService.server.setSecureContext({ cert, key });
  expect((await gateway.graphql(read)).errors).toBeUndefined();
  expect(tlsService.clients).toHaveLength(2);
  expect(await expiry()).toBe(Date.parse(new X509Certificate(next.cert).validTo) / 1000);
});

test('without a certificate, a service with mutual TLS gets no write', async () => {
  const tlsService = await startTlsService(mutual());
  const gateway = await startTestGateway(tlsService, { UPSTREAM_TLS_CA_FILE: ca.certFile });
  await gateway.graphql(write);
  expect(tlsService.clients).toEqual([]);
});

// With the public CAs only, the service gets nothing: see above.
test("NODE_EXTRA_CA_CERTS applies to the service and to the issuer's keys, and NODE_USE_ENV_PROXY to the keys", async () => {
  const tlsService = await startTlsService();
  const targets: string[] = [];
  const { server: proxy, origin } = await startHttpServer(() => {});
  proxy.on('connect', ({ url = '' }, socket) => {
    targets.push(url);
    const [host, port] = url.split(':');
    const tunnel = connect(Number(port), host, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      tunnel.pipe(socket).pipe(tunnel);
    });
    for (const end of [socket, tunnel]) end.on('error', () => {});
  });
  const gateway = await startGatewayProcess(tlsService, {
    NODE_EXTRA_CA_CERTS: ca.certFile,
    NODE_USE_ENV_PROXY: '1',
    HTTPS_PROXY: origin,
    JWT_JWKS_URL: `${tlsService.url}keys`,
  });

  const { text } = await gateway.post(
    { query: read },
    { authorization: `Bearer ${gateway.token}` },
  );

  expect(JSON.parse(text).errors).toBeUndefined();
  expect([...new Set(targets)]).toEqual([new URL(tlsService.url).host]);
  // On a busy machine, the keys are fetched twice.
  expect([...new Set(tlsService.clients.map(({ path }) => path))]).toEqual([
    '/keys',
    expect.stringMatching(/^\/getGLCodes5/),
  ]);
});
