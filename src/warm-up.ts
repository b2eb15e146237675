import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { type Logger, pino } from 'pino';
import { readConfig } from './config/config.ts';
import { prefixOf, serviceNames } from './config/service-settings.ts';
import { startGateway } from './gateway.ts';
import { type Declaration, declarations } from './upstream/declarations.ts';

/** How often each document is sent. Twice as many did not make the first requests faster. */
const ROUNDS = 5;
const [ISSUER, AUDIENCE] = ['https://warm-up.invalid/', 'warm-up'];
const folder = new URL('../examples/operations/', import.meta.url);

/**
 * Makes the first requests after a start about as fast as later ones (docs/decisions/0028): executes the example operations
 * in a gateway of its own, in front of a service of its own, so that nothing reaches the real service, the store of
 * idempotency keys, the metrics or the log. Whatever fails is logged, and the start goes on.
 */
export async function warmUp(log: Logger): Promise<void> {
  const { publicKey, privateKey } = await generateKeyPair('ES256');
  const keys = { keys: [{ ...(await exportJWK(publicKey)), alg: 'ES256', kid: 'warm-up' }] };
  const service = await startService(JSON.stringify(keys));
  const token = await new SignJWT({ sub: 'warm-up' })
    .setProtectedHeader({ alg: 'ES256', kid: 'warm-up' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey);
  try {
    const silent = pino({ level: 'info' }, { write() {} });
    const gateway = await startGateway(configFor(service.url), silent);
    await sendAll(gateway.url, token).finally(() => gateway.close());
  } catch (error) {
    log.warn({ fault: String(error) }, 'warm-up failed');
  } finally {
    service.close();
  }
}

function configFor(service: string) {
  const baseUrls = serviceNames.map((name) => [`${prefixOf(name)}BASE_URL`, service]);
  return readConfig({
    ...Object.fromEntries(baseUrls),
    HOST: '127.0.0.1',
    PORT: '0',
    JWT_JWKS_URL: `${service}/keys`,
    JWT_ISSUER: ISSUER,
    JWT_AUDIENCE: AUDIENCE,
    SHUTDOWN_DELAY_MS: '0',
  });
}

/** Responds to each operation with the sample of its declaration. */
async function startService(keys: string) {
  const samples = new Map([['/keys', keys]]);
  for (const { path, sample } of Object.values<Declaration>(declarations))
    samples.set(`/${path}`, sample);
  const respond: RequestListener = ({ url = '' }, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(samples.get(url.replace(/\?.*/, '')) ?? '{}');
  };
  const server = createServer(respond).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

/** Sends every document several times, with and without a key. Throws if one is not executed. */
async function sendAll(url: string, token: string): Promise<void> {
  const documents = readdirSync(folder).map((file) => readFileSync(new URL(file, folder), 'utf8'));
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  for (let round = 0; round < ROUNDS; round++) {
    for (const query of documents) {
      const key = round % 2 === 0 && { 'idempotency-key': crypto.randomUUID() };
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { ...headers, ...key },
        body: JSON.stringify({ query }),
        signal: AbortSignal.timeout(10_000),
      });
      const text = await response.text();
      if (text.includes('"errors"')) throw new Error(text);
    }
  }
}
