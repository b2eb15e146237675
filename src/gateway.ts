import { fastifyApolloHandler } from '@as-integrations/fastify';
import type { Logger } from 'pino';
import { Account, memoryForRequests } from './account/account.ts';
import { createAuthenticator } from './auth/authenticate.ts';
import { type Config, settingsOf } from './config.ts';
import { startApolloServer } from './graphql/apollo-server.ts';
import { createContext } from './graphql/context.ts';
import { createDocumentLimiter } from './graphql/limits/document-limits.ts';
import { createExplorer } from './http/explorer.ts';
import { createLoadShedding } from './http/load-shedding.ts';
import { createServer } from './http/server.ts';
import { createIdempotency } from './idempotency/idempotency.ts';
import { TaskQueue } from './lib/task-queue.ts';
import type { LogOutput } from './telemetry/log-output.ts';
import { createMetrics, type Metrics } from './telemetry/metrics.ts';
import { startTracing } from './telemetry/tracing.ts';
import { UpstreamCalls } from './upstream/call.ts';
import { createTransport } from './upstream/transport/got-client.ts';
import { version } from './version.ts';

export type Gateway = {
  /** The address it listens at, such as `http://127.0.0.1:4000`. */
  url: string;
  /** Becomes not ready, waits for load balancers, finishes the requests in flight, and stops. */
  close(): Promise<void>;
  /** Logs the writes in flight, before an exit that does not wait for them. */
  logPendingWrites(): void;
};

/** Connections that wait to be accepted. Node accepts one per iteration of its event loop, so bursts have to wait. */
const BACKLOG = 4096;
/** Work on more bytes than this takes tens of milliseconds and waits in the task queue. */
const LONG_TASK_BYTES = 500_000;

/** Starts a gateway, and composes it from the service's side to the client's. `output` is where `log` goes. */
export async function startGateway(
  config: Config,
  log: Logger,
  output: Pick<LogOutput, 'dropped'> = { dropped: 0 },
): Promise<Gateway> {
  log.info({ version, settings: settingsOf(config) }, 'starting');
  const tracing = await startTracing(config.tracing, version, log);
  const metrics = createMetrics({ version, commit: config.commit }, output);
  const account = new Account(memoryForRequests());
  const taskQueue = new TaskQueue(LONG_TASK_BYTES);
  const service = await connectService(config, metrics, taskQueue, log);

  const checkDocument = createDocumentLimiter(config.maxWritesPerOperation);
  const { apollo, trusted } = await startApolloServer({
    ...config,
    checkDocument,
    observe: metrics.resolved,
    log,
  });
  const resolverDependencies = { ...config.upstream, ...service.idempotency, taskQueue };
  const execute = fastifyApolloHandler(apollo, {
    context: async ({ scope, record }) => createContext(resolverDependencies, scope, record),
  });

  const authenticator = createAuthenticator(config.jwt, log, metrics.authenticated);
  const loadShedding = createLoadShedding();
  let isClosing = false;
  const isReady = () => !isClosing && authenticator.isReady();
  metrics.watchReadiness(isReady);
  const server = await createServer({
    account,
    authenticate: authenticator.authenticate,
    resolveDocument: trusted && ((request) => trusted.resolve(request)),
    checkDocument,
    taskQueue,
    execute,
    corsOrigins: config.corsOrigins,
    compression: config.compression,
    explorer: await createExplorer(config.explorer, config.explorerHeaders),
    isReady,
    shutdownDelayMs: config.shutdownDelayMs,
    loadShedding,
    metrics,
    log,
  });
  const url = await server.listen({ port: config.port, host: config.host, backlog: BACKLOG });

  return {
    url,
    logPendingWrites() {
      for (const write of service.upstreamCalls.pendingWrites) {
        log.warn({ ...write, outcome: 'UNKNOWN', fault: 'process exited' }, 'call');
      }
    },
    async close() {
      isClosing = true;
      await server.close();
      await service.upstreamCalls.idle();
      await service.idempotency.close();
      await apollo.stop();
      loadShedding.close();
      authenticator.close();
      service.transport.close();
      await tracing.close();
    },
  };
}

/** The service's side: connections, calls, and the idempotency keys of writes. */
async function connectService(config: Config, metrics: Metrics, taskQueue: TaskQueue, log: Logger) {
  const transport = createTransport(config.upstream);
  const upstreamCalls = new UpstreamCalls({
    ...config.upstream,
    transport,
    taskQueue,
    log,
    observer: metrics.calls,
  });
  metrics.watchCalls(upstreamCalls);
  const idempotency = await createIdempotency({
    ...config.idempotency,
    timeoutMs: config.upstream.timeoutMs,
    calls: upstreamCalls,
    registry: metrics.registry,
    log,
  });
  return { transport, upstreamCalls, idempotency };
}
