import type { Logger } from 'pino';
import { Account } from './account/account.ts';
import { shareMemory } from './account/free-memory.ts';
import { Gate } from './account/gate.ts';
import { Lane } from './account/lane.ts';
import { createAuthenticator } from './auth/authenticate.ts';
import { type Config, settingsOf } from './config.ts';
import { createFieldObserver } from './graphql/field-metrics.ts';
import { startGraphql } from './graphql/graphql-server.ts';
import { createExplorer } from './http/explorer.ts';
import { registerHttpMetrics } from './http/http-metrics.ts';
import { createServer } from './http/server.ts';
import { createIdempotency } from './idempotency/idempotency.ts';
import { watchSettings } from './settings/changed-settings.ts';
import { type LogBacklog, Metrics } from './telemetry/metrics.ts';
import { startTracing } from './telemetry/tracing.ts';
import { UpstreamCalls } from './upstream/call.ts';
import { createCallObserver, watchCalls } from './upstream/call-metrics.ts';
import { createTransport } from './upstream/transport/got-client.ts';
import { version } from './version.ts';

export type Gateway = Awaited<ReturnType<typeof startGateway>>;

/** Starts a gateway, and composes it from the service's side to the client's. `output` is where `log` goes. */
export async function startGateway(
  config: Config,
  log: Logger,
  output: LogBacklog = { dropped: 0, heldBytes: 0 },
) {
  log.info({ version, settings: settingsOf(config) }, 'starting');
  const tracing = await startTracing(config.tracing, version, log);
  const metrics = new Metrics({ version, commit: config.commit }, output);
  const memory = shareMemory(config.idempotency.store === 'memory');
  const account = new Account(memory.requests);
  const lane = new Lane();
  // More than calls to the service, because some need none. The wait is well below the deadline of an operation.
  const maxRequests = Math.max(64, config.upstream.maxConcurrency * 1.25);
  const requests = new Gate({ limit: maxRequests, maxWaitMs: 2000, maxWaiting: 4096 });
  const shared = { account, log, memoryBytes: memory.store };
  const service = await connectService(config, metrics, shared);

  const graphql = await startGraphql({
    ...config,
    ...config.upstream,
    ...service.idempotency,
    areOthersExecuted: config.trustedDocumentsMode === 'log',
    observe: createFieldObserver(metrics),
    log,
  });

  const authenticator = createAuthenticator(config.jwt, log, metrics);
  let isShuttingDown = false;
  const isReady = () => !isShuttingDown && authenticator.isReady();
  const httpMetrics = registerHttpMetrics(metrics, { requests, account, isReady });
  const server = await createServer({
    account,
    requests,
    authenticator,
    execute: graphql.execute,
    lane,
    ...config,
    explorer: await createExplorer(config.explorer, config.explorerHeaders),
    isReady,
    metrics: httpMetrics,
    log,
  });
  const unwatch = watchSettings(config, { ...service, graphql, authenticator, metrics, log });
  // Node accepts one connection per iteration of its event loop, so bursts have to wait.
  const url = await server.listen({ port: config.port, host: config.host, backlog: 4096 });

  return {
    /** The address it listens at, such as `http://127.0.0.1:4000`. */
    url,
    /** Logs the writes in flight, before an exit that does not wait for them. */
    logPendingWrites() {
      for (const write of service.upstreamCalls.pendingWrites) {
        log.warn({ ...write, outcome: 'UNKNOWN', fault: 'process exited' }, 'call');
      }
    },
    /** Becomes not ready, waits for load balancers, finishes the requests in flight, and stops. */
    async close() {
      isShuttingDown = true;
      unwatch();
      await server.close();
      await service.upstreamCalls.inFlight.idle();
      await service.idempotency.close();
      await graphql.stop();
      authenticator.close();
      service.transport.close();
      await tracing.close();
    },
  };
}

/** The service's side: connections, calls, and the idempotency keys of writes. */
async function connectService(
  config: Config,
  metrics: Metrics,
  shared: { account: Account; memoryBytes: number; log: Logger },
) {
  const transport = createTransport(config.upstream);
  const upstreamCalls = new UpstreamCalls({
    ...config.upstream,
    ...shared,
    transport,
    observer: createCallObserver(metrics),
  });
  watchCalls(metrics, upstreamCalls.admission);
  const idempotency = await createIdempotency({
    ...config.idempotency,
    ...shared,
    maxWritesPerKey: config.maxWritesPerOperation,
    timeoutMs: config.upstream.timeoutMs,
    shutdownTimeoutMs: config.shutdownTimeoutMs,
    calls: upstreamCalls,
    metrics,
  });
  return { transport, upstreamCalls, idempotency };
}
