import type { Logger } from 'pino';
import { shareMemory } from './admission/free-memory.ts';
import { Gate } from './admission/gate.ts';
import { Lane } from './admission/lane.ts';
import { Memory } from './admission/memory.ts';
import { createAuthenticator } from './auth/authenticate.ts';
import { watchSettings } from './config/changed-settings.ts';
import { type Config, settingsOf } from './config/config.ts';
import { createFieldObserver } from './graphql/field-metrics.ts';
import { startGraphql } from './graphql/graphql-server.ts';
import { createExplorer } from './http/explorer.ts';
import { registerHttpMetrics } from './http/http-metrics.ts';
import { createServer } from './http/server.ts';
import { createIdempotency } from './idempotency/idempotency.ts';
import { type LogBacklog, Metrics } from './telemetry/metrics.ts';
import { startTracing } from './telemetry/tracing.ts';
import { services as declared, type ServiceName } from './upstream/declarations.ts';
import { connectServices, type ServiceSettings } from './upstream/services.ts';
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
  const bytes = shareMemory(config.idempotency.store === 'memory');
  const memory = new Memory(bytes.requests);
  const lane = new Lane();
  // More than calls to the service, because some need none. The wait is well below the deadline of an operation.
  const maxRequests = Math.max(64, config.upstream.maxConcurrency * 1.25);
  const requests = new Gate({ limit: maxRequests, maxWaitMs: 2000, maxWaiting: 4096 });
  const shared = { memory, log, metrics };
  const { services, idempotency } = await connectUpstream(config, bytes.store, shared);

  const graphql = await startGraphql({
    ...config,
    ...config.upstream,
    ...idempotency,
    areOthersExecuted: config.trustedDocumentsMode === 'log',
    observe: createFieldObserver(metrics),
    log,
  });

  const authenticator = createAuthenticator(config.jwt, log, metrics);
  let isShuttingDown = false;
  const isReady = () => !isShuttingDown && authenticator.isReady();
  const httpMetrics = registerHttpMetrics(metrics, { requests, memory, isReady });
  const server = await createServer({
    memory,
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
  const transport = services.transportOf('ledger');
  const unwatch = watchSettings(config, { transport, graphql, authenticator, metrics, log });
  // Node accepts one connection per iteration of its event loop, so bursts have to wait.
  const url = await server.listen({ port: config.port, host: config.host, backlog: 4096 });

  return {
    /** The address it listens at, such as `http://127.0.0.1:4000`. */
    url,
    /** Logs the writes in flight, before an exit that does not wait for them. */
    logPendingWrites() {
      for (const write of services.pendingWrites()) {
        log.warn({ ...write, outcome: 'UNKNOWN', fault: 'process exited' }, 'call');
      }
    },
    /** Becomes not ready, waits for load balancers, finishes the requests in flight, and stops. */
    async close() {
      isShuttingDown = true;
      unwatch();
      await server.close();
      await services.idle();
      await idempotency.close();
      await graphql.stop();
      authenticator.close();
      services.close();
      await tracing.close();
    },
  };
}

/** The side of the services: connections and calls of each, and the idempotency keys of writes. */
async function connectUpstream(
  config: Config,
  memoryBytes: number,
  shared: { memory: Memory; log: Logger; metrics: Metrics },
) {
  const settings = { ledger: { ...config.upstream, ...declared.ledger } };
  const services = connectServices(settings satisfies Record<ServiceName, ServiceSettings>, shared);
  const idempotency = await createIdempotency({
    ...config.idempotency,
    ...shared,
    memoryBytes,
    maxWritesPerKey: config.maxWritesPerOperation,
    timeoutMs: Math.max(...Object.values(settings).map(({ timeoutMs }) => timeoutMs)),
    shutdownTimeoutMs: config.shutdownTimeoutMs,
    calls: services.calls,
  });
  return { services, idempotency };
}
