import { setImmediate } from 'node:timers/promises';
import { createAuthenticator } from '../../src/auth/authenticate.ts';
import { readConfig } from '../../src/config/config.ts';
import { ledger } from '../../src/resolvers/ledger.ts';
import { createLog, LogOutput } from '../../src/telemetry/log.ts';
import { Metrics } from '../../src/telemetry/metrics.ts';

/*
 * What ledger-gateway does for every request and call besides GraphQL. The peers `stack` and `mercurius` do the same: they verify
 * tokens, write log lines and metrics, flush the log before a write, have a deadline, send the same headers, and let connections
 * rest (connections.ts). For tokens, log and metrics they call the code of the gateway.
 */
const TIMEOUT_MS = 10_000;

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

const output = new LogOutput();
export const log = createLog('info', output);
const registry = new Metrics({ version: 'none', commit: 'none' }, output);
export const metricsText = () => registry.text();
const metrics = {
  requests: registry.counter('http_requests_total', 'responses', 'status'),
  requestSeconds: registry.histogram('request_seconds', 'requests', ['operation', 'outcome']),
  callSeconds: registry.histogram('call_seconds', 'calls', ['operation', 'outcome']),
  fields: registry.counter('operations_total', 'root fields', 'operation', 'outcome'),
};
const { jwt } = readConfig(process.env, ledger.operations);
export const { authenticate } = createAuthenticator(jwt, log, registry);

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
      output.flush();
      await setImmediate(); // The line is written before this resolves.
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
