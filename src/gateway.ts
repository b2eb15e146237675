import type { Logger } from 'pino';
import { shareMemory } from './admission/free-memory.ts';
import { Gate } from './admission/gate.ts';
import { Lane } from './admission/lane.ts';
import { Memory } from './admission/memory.ts';
import { createAudit } from './audit/audit.ts';
import { createAuditOutput } from './audit/audit-output.ts';
import { createAuthenticator } from './auth/authenticate.ts';
import { watchSettings } from './changed-settings.ts';
import { type Config, settingsOf } from './config/config.ts';
import { createFieldObserver } from './graphql/execution.ts';
import { startGraphql } from './graphql/graphql-server.ts';
import type { ContextDependencies } from './graphql/request-context.ts';
import type { Explorer } from './http/explorer.ts';
import { registerHttpMetrics } from './http/http-metrics.ts';
import { createServer } from './http/server.ts';
import { createIdempotency } from './idempotency/idempotency.ts';
import { Policy } from './policy/policy.ts';
import { type Ledger, ledger } from './resolvers/ledger.ts';
import { LogOutput } from './telemetry/log.ts';
import { Metrics } from './telemetry/metrics.ts';
import { startTracing } from './telemetry/tracing.ts';
import { UpstreamCalls, type Writes } from './upstream/call.ts';
import { CallObserver, watchCalls } from './upstream/call-observer.ts';
import { ReadCache } from './upstream/read-cache.ts';
import { createTransport } from './upstream/transport/got-client.ts';
import { version } from './version.ts';

type Telemetry = { metrics: Metrics; log: Logger };

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** Starts a gateway, and composes it from the service's side to the client's. `stdout` is where `log` goes. */
export async function startGateway(
  config: Config,
  log: Logger,
  stdout = new LogOutput(),
  product: Ledger = ledger,
) {
  logStart(config, log);
  const tracing = await startTracing(config.tracing, version, log);
  const metrics = new Metrics({ version, commit: config.commit }, stdout);
  const telemetry = { metrics, log };
  const bytes = shareMemory();
  const memory = new Memory(bytes.requests);
  const lane = new Lane();
  // Some requests make no call to the service, so there are more places for requests than for calls. The wait for a place is
  // much shorter than the deadline of an operation.
  const limit = Math.max(64, config.service.maxConcurrency * 1.25);
  const { idle } = memory;
  const requests = new Gate({ limit, maxWaitMs: 2000, maxWaiting: 4096, idle });
  const connected = await connectUpstream(config, product, bytes.store, memory, telemetry);
  const { upstreamCalls, transport, idempotency, policy } = connected;
  const audit = startAudit(config.audit, idempotency, stdout, telemetry);
  const served = { reads: upstreamCalls, writes: audit ?? idempotency, keys: idempotency };
  const graphql = await executeGraphql(config, product, served, telemetry);
  const authenticator = createAuthenticator(config.jwt, log, metrics);
  let isShuttingDown = false;
  const isReady = () => !isShuttingDown && authenticator.isReady();
  const { port, host } = config.http;
  const server = await createServer({
    settings: config.http,
    introspection: config.graphql.introspection,
    memory,
    requests,
    lane,
    authenticator,
    execute: graphql.execute,
    explorer: await loadExplorer(config.http),
    isReady,
    metrics: registerHttpMetrics(metrics, { requests, memory, lane, isReady }),
    log,
  });
  const parts = { transport, graphql, authenticator, policy, metrics, log };
  const unwatch = watchSettings(config, parts);
  // Node accepts one connection per iteration of its event loop, so bursts have to wait.
  const url = await server.listen({ port, host, backlog: 4096 });

  return {
    /** The address it listens at, such as `http://127.0.0.1:4000`. */
    url,
    /** Logs the writes in flight, before an exit that does not wait for them. */
    logPendingWrites() {
      upstreamCalls.logPendingWrites();
      audit?.abandon();
    },
    /** Reports that it is not ready, waits for load balancers, finishes the requests in flight, and stops. */
    async close() {
      isShuttingDown = true;
      unwatch();
      await server.close(); // No request is being executed any more.
      await idempotency.close();
      await policy?.close();
      await graphql.stop();
      authenticator.close();
      connected.readCache.clear();
      transport.close();
      audit?.close();
      await tracing.close();
    },
  };
}

function logStart(config: Config, log: Logger): void {
  log.info({ version, settings: settingsOf(config) }, 'starting');
  const { withoutEffect: names, shortShutdown } = config.warnings;
  if (names.length > 0) log.warn({ names }, 'variables without effect');
  if (shortShutdown) log.info(shortShutdown, 'a mutation may take longer than the shutdown');
}

/** The side of the service: connections, calls with their cache of reads, and the idempotency keys of writes. */
async function connectUpstream(
  config: Config,
  { operations, probe }: Ledger,
  memoryBytes: number,
  memory: Memory,
  { metrics, log }: Telemetry,
) {
  const { service, idempotency: keys } = config;
  const { POLICY_FILE: file } = config.environment;
  const policy = file && new Policy(file.value, keys.store, log);
  const observer = new CallObserver(metrics, log);
  const transport = createTransport({ ...service, observer });
  const readCache = new ReadCache(config.readCacheMs, memory);
  const parts = { probe, memory, policy, transport, readCache, observer };
  const upstreamCalls = new UpstreamCalls({ ...service, ...parts });
  watchCalls(metrics, upstreamCalls.admission, readCache);
  const idempotency = await createIdempotency({
    ...keys,
    operations,
    memoryBytes,
    maxWritesPerKey: config.graphql.maxWritesPerOperation,
    timeoutMs: service.timeoutMs,
    closeMs: config.shutdownTimeoutMs,
    upstream: upstreamCalls,
    metrics,
    log,
  });
  return { upstreamCalls, transport, readCache, idempotency, policy };
}

/** The execution of GraphQL operations, on top of the calls to the service. */
function executeGraphql(
  { graphql, ledger: settings, service }: Config,
  product: Ledger,
  served: Pick<ContextDependencies, 'reads' | 'writes' | 'keys'>,
  { metrics, log }: Telemetry,
) {
  const areOthersExecuted = graphql.trustedDocumentsMode === 'log';
  const { maxResponseBytes } = service;
  return startGraphql({
    schema: product,
    documents: { ...graphql, areOthersExecuted },
    context: { ...served, maxResponseBytes, ...settings },
    observe: createFieldObserver(metrics, product.operations),
    log,
  });
}

/** The record of who wrote what, unless it is off. */
function startAudit(
  { output, subject }: Config['audit'],
  writes: Writes,
  stdout: LogOutput,
  telemetry: Telemetry,
): ReturnType<typeof createAudit> | undefined {
  if (output === 'off') return undefined;
  return createAudit(writes, createAuditOutput(output, stdout, telemetry), subject);
}

/** The explorer, which is loaded only where it is switched on. */
async function loadExplorer(http: Config['http']): Promise<Explorer | undefined> {
  if (http.explorer === 'off') return undefined;
  const { createExplorer } = await import('./http/explorer.ts');
  return createExplorer(http.explorer, http.explorerHeaders);
}
