import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createLocalJWKSet, type JWTPayload, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { destination, pino } from 'pino';
import { Counter, collectDefaultMetrics, Histogram, register } from 'prom-client';

/*
 * What ledger-gateway does for every request and call besides GraphQL, and the peers `stack` and `mercurius` do, too: they
 * verify tokens and cache that, write the same log lines and metrics, flush the log before a write, have a deadline, send the same
 * headers, and let connections rest (connections.ts).
 */
const TIMEOUT_MS = 10_000;
const FLUSH_MS = 100;

/** A request of a client. */
export type Scope = {
  requestId: string;
  token: string;
  caller: string;
  signal: AbortSignal;
  fields: Map<string | number, { operation: string; outcome: string }>;
};

/** Sends a request to the service, and reads the body of the response. */
export type Transport = (exchange: {
  path: string;
  headers: Record<string, string | string[] | undefined>;
  signal: AbortSignal;
}) => Promise<{ status: number; body: unknown }>;

const lines = destination({ fd: 1, sync: true, minLength: 16_000 });
export const log = pino({ base: null }, lines);
setInterval(() => lines.flushSync(), FLUSH_MS).unref();

collectDefaultMetrics();
const durationBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const histogram = (name: string) =>
  new Histogram({
    name,
    help: name,
    labelNames: ['operation', 'outcome'],
    buckets: durationBuckets,
  });
const counter = (name: string, ...labelNames: string[]) =>
  new Counter({ name, help: name, labelNames });
const metrics = {
  requests: counter('http_requests_total', 'status'),
  requestSeconds: histogram('request_duration_seconds'),
  callSeconds: histogram('call_duration_seconds'),
  fields: counter('operations_total', 'operation', 'outcome'),
  tokens: counter('token_verifications_total', 'result'),
};
export const metricsText = () => register.metrics();

/** One call to the service, within the deadline. Reads end when the client disconnects. */
export async function call(
  operation: string,
  path: string,
  isWrite: boolean,
  scope: Scope,
  send: Transport,
): Promise<unknown> {
  const start = performance.now();
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), TIMEOUT_MS);
  const abort = () => controller.abort();
  if (!isWrite) scope.signal.addEventListener('abort', abort, { once: true });
  const { requestId, caller } = scope;
  let outcome = 'failed';
  let status: number | undefined;
  try {
    if (isWrite) {
      log.info({ requestId, operation, caller }, 'sent');
      await flushed();
    }
    const headers = { authorization: `Bearer ${scope.token}`, 'x-request-id': requestId };
    const reply = await send({ path, headers, signal: controller.signal });
    status = reply.status;
    if (status !== 200) throw new Error(`The service responded with ${status}`);
    outcome = 'answered';
    return reply.body;
  } finally {
    clearTimeout(timer);
    if (!isWrite) scope.signal.removeEventListener('abort', abort);
    const ms = performance.now() - start;
    metrics.callSeconds.observe({ operation, outcome }, ms / 1000);
    log.info({ requestId, operation, outcome, status, ms: Math.round(ms), caller }, 'call');
  }
}

/** Resolves when the log lines so far are written, once for all writes in an iteration of the event loop. */
let flushing: Promise<void> | undefined;
function flushed(): Promise<void> {
  flushing ??= new Promise((resolve) =>
    setImmediate(() => {
      flushing = undefined;
      lines.flushSync();
      resolve();
    }),
  );
  return flushing;
}

/** Adds the outcome of a root field to its request. */
export async function observed<Result extends object>(
  operation: string,
  key: string | number,
  scope: Scope,
  typeOf: (result: Result) => string,
  run: () => Promise<Result>,
) {
  try {
    const result = await run();
    const __typename = typeOf(result);
    scope.fields.set(key, { operation, outcome: __typename });
    return { ...result, __typename };
  } catch (error) {
    scope.fields.set(key, { operation, outcome: 'INTERNAL_SERVER_ERROR' });
    throw error;
  }
}

/** Logs and measures a request when its response has ended. */
export function logRequest(scope: Scope, start: number, method: string, status: number): void {
  const seconds = (performance.now() - start) / 1000;
  metrics.requests.inc({ status });
  for (const field of scope.fields.values()) {
    metrics.fields.inc(field);
    metrics.requestSeconds.observe(field, seconds);
  }
  const { requestId, caller } = scope;
  const ms = Math.round(seconds * 1000);
  log.info({ requestId, method, path: '/graphql', status, ms, caller }, 'request');
}

/** Tokens that are verified, for a minute. */
const { JWT_JWKS_FILE = '', JWT_ISSUER = '', JWT_AUDIENCE = '' } = process.env;
const keys = createLocalJWKSet(JSON.parse(readFileSync(JWT_JWKS_FILE, 'utf8')));
const verified = new LRUCache<string, JWTPayload>({ max: 10_000, ttl: 60_000 });
const claims = { issuer: JWT_ISSUER, audience: JWT_AUDIENCE };
export async function authenticate(authorization = '') {
  const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization)?.[1] ?? '';
  const digest = hash('sha256', token, 'base64');
  let payload = verified.get(digest);
  metrics.tokens.inc({ result: payload ? 'remembered' : 'verified' });
  if (!payload) {
    ({ payload } = await jwtVerify(token, keys, claims));
    verified.set(digest, payload);
  }
  return { token, caller: `${payload.iss} ${payload.sub}` };
}
