import { type Logger, pino } from 'pino';
import { wallOffsetNow } from '../../src/lib/suspension.ts';
import type { RequestScope } from '../../src/request-scope.ts';
import { ledger } from '../../src/resolvers/ledger.ts';
import { type CallPolicy, UpstreamCalls } from '../../src/upstream/call.ts';
import { CallObserver } from '../../src/upstream/call-observer.ts';
import { operations } from '../../src/upstream/declarations.ts';
import type { WriteRequest } from '../../src/upstream/operations.ts';
import { ReadCache, type ReadSource } from '../../src/upstream/read-cache.ts';
import { createTransport } from '../../src/upstream/transport/got-client.ts';
import type { TlsFiles } from '../../src/upstream/transport/tls-files.ts';
import { OutcomeUnknown, UpstreamError } from '../../src/upstream/upstream-error.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { createLane, createMemory, createReservation, type Memory } from './admission.ts';
import { createMetrics } from './metrics.ts';

/** The signal of a client that stays connected. */
export const neverAborted = new AbortController().signal;

/** The scope of a request with this token. */
export function scopeOf(
  token = 'token',
  signal = neverAborted,
  subject: string | null = 'ada',
): RequestScope {
  // As of a verified token: without `sub`, all tokens of the issuer are admitted as one caller.
  const admissionKey = subject ?? 'issuer';
  const lane = createLane();
  return {
    token,
    caller: { issuer: 'issuer', subject, hash: `hash of ${subject ?? token}`, admissionKey },
    identity: `hash of ${token}`,
    requestId: 'request-1',
    reservation: createReservation(createMemory(), admissionKey),
    turn: (signal) => lane.turn(admissionKey, 0, signal),
    trace: undefined,
    forwarded: undefined,
    signal,
    isClosed: () => false,
    givenKey: () => ({ keys: [], ages: [] }),
    idempotencyResponseName: undefined,
    receivedAt: performance.now(),
    wallOffset: wallOffsetNow(),
    state: {},
  };
}

/** A policy that allows everything. */
export const openPolicy: CallPolicy = { check: () => () => {}, count: () => undefined };

/** A read of GL codes. Different projects are different reads. */
export function glCodesOf(project = 'north') {
  const parameters = { target: 5, project, includeHide: false };
  return operations.getGLCodes5.encode(parameters);
}

/** The smallest write. */
export const upgradeToHq = { ...operations.upgradeToHQ.encode({}), responseName: 'result' };

/** Creates what lies between a resolver and the service, and counts its events. */
export function startCalls(
  service: { url: string },
  options: {
    maxConcurrency?: number;
    timeoutMs?: number;
    maxResponseBytes?: number;
    keepAliveS?: number | undefined;
    memory?: Memory;
    readCacheMs?: number;
    policy?: CallPolicy;
    log?: Logger;
    tls?: TlsFiles;
  } = {},
) {
  const limits = { timeoutMs: 10_000, maxResponseBytes: 1_000_000, maxConcurrency: 256 };
  const baseUrl = new URL(service.url);
  const counts = {
    ...{ attempted: 0, cached: 0, retried: 0, sent: 0, joined: 0, kept: 0 },
    ...{ opened: 0, closedEarly: 0, surplus: 0 },
  };
  const count = (name: keyof typeof counts) => () => {
    counts[name] += 1;
  };
  const transport = createTransport({
    ...limits,
    tls: {},
    ...options,
    baseUrl,
    headers: {},
    observer: {
      opened: count('opened'),
      closedEarly: count('closedEarly'),
      surplus: count('surplus'),
    },
  });
  closeAfterTest(() => transport.close());
  const observer = new (class extends CallObserver {
    override ended(...[request, scope, end]: Parameters<CallObserver['ended']>) {
      if (end.ms !== undefined) counts.attempted += 1;
      super.ended(request, scope, end);
    }
    override responded(...response: Parameters<CallObserver['responded']>) {
      const cache = super.responded(...response);
      if (cache !== undefined) counts.cached += 1;
      return cache;
    }
    override retried = count('retried');
    override read(_: unknown, source: ReadSource) {
      counts[source] += 1;
    }
  })(createMetrics(), options.log ?? pino({ level: 'silent' }));
  const { memory = createMemory(), readCacheMs = 0 } = options;
  const readCache = new ReadCache(readCacheMs, memory);
  closeAfterTest(() => readCache.clear());
  const calls = new UpstreamCalls({
    baseUrl,
    memory,
    ...limits,
    transport,
    readCache,
    probe: ledger.probe,
    ...options,
    observer,
  });
  return { calls, counts, readCache };
}

/** The result of a write that may have been sent, and whose response was lost. */
export const unknown = (code: string) => `unknown: ${code}`;

/** The error of a call after which the same request may be repeated. */
export const retryable = (code: string) => `retryable: ${code}`;

/** Starts calls to a service, and reports how each one ends: `success`, an error code, or one of the two above. */
export function startOutcomes(url: string, options: Parameters<typeof startCalls>[1] = {}) {
  const { calls, counts } = startCalls({ url }, { timeoutMs: 5000, ...options });
  const outcomeOf = async (call: Promise<unknown>): Promise<string> => {
    try {
      const result = await call;
      return result instanceof OutcomeUnknown ? unknown(result.code) : 'success';
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      return error.retryable ? retryable(error.code) : error.code;
    }
  };
  return {
    calls,
    counts,
    read: () => outcomeOf(calls.read(glCodesOf(), scopeOf())),
    write: (request: WriteRequest = upgradeToHq, scope = scopeOf()) =>
      outcomeOf(calls.write(request, scope)),
  };
}
