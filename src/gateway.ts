import { ApolloServer } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import { fastifyApolloHandler } from '@as-integrations/fastify';
import type { Logger } from 'pino';
import { createAuthenticate } from './auth.ts';
import type { Config } from './config.ts';
import { type Context, createContext } from './context.ts';
import { createErrorFormatter } from './errors.ts';
import { createExecutor } from './executor.ts';
import { createExplorer } from './explorer.ts';
import { createServer } from './http.ts';
import { createLimiter } from './limits.ts';
import { createMetrics } from './metrics.ts';
import { watchPressure } from './pressure.ts';
import { createSchema, noIntrospection } from './schema.ts';
import { startTracing, traceOf } from './tracing.ts';
import { createCalls } from './upstream/calls.ts';
import { createHttp } from './upstream/http.ts';

export type Gateway = {
  /** Where it listens, such as `http://127.0.0.1:4000`. */
  url: string;
  /** Stops being ready, waits for the balancers, answers what is in flight, and ends. */
  close(): Promise<void>;
  /** Notes the writes in flight in the log, before an end that does not wait for them. */
  abandon(): void;
};

/**
 * Starts a gateway. Everything it is made of stands here, from what the service is called with to what
 * a request meets first. `compileAt` is for tests, see `createExecutor`.
 */
export async function startGateway(
  config: Config,
  log: Logger,
  compileAt?: number,
): Promise<Gateway> {
  const tracing = await startTracing(config.otlpEndpoint);
  const metrics = createMetrics();
  const upstream = createHttp(config.upstream);
  const calls = createCalls({ ...config.upstream, http: upstream, log, observer: metrics.calls });
  metrics.watch(calls);
  const keys = createAuthenticate(config.jwt, log, metrics.authenticated);

  const schema = createSchema(metrics.resolved);
  const formatError = createErrorFormatter(log);
  const apollo = new ApolloServer<Context>({
    schema,
    // A rule of ours in place of Apollo's, whose words are for operators.
    introspection: true,
    validationRules: config.introspection ? [] : [noIntrospection],
    hideSchemaDetailsFromClientErrors: !config.introspection,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    formatError,
    logger: log,
    plugins: [
      createExecutor(schema, formatError, compileAt),
      // Caching is nothing that state-changing calls can have, and it costs with every field.
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginLandingPageDisabled(),
    ],
  });
  await apollo.start();

  const pressure = watchPressure();
  let ready = true;
  const server = await createServer({
    authenticate: keys.authenticate,
    metrics,
    checkOperation: createLimiter(config.maxWritesPerOperation),
    graphql: fastifyApolloHandler(apollo, {
      context: async ({ caller, id, gone, headers }) =>
        createContext(
          calls.call,
          { caller, requestId: id, signal: gone, trace: traceOf(headers) },
          config.upstream,
        ),
    }),
    corsOrigins: config.corsOrigins,
    explorer:
      config.explorer === 'off'
        ? undefined
        : await createExplorer(config.explorer, config.explorerHeaders),
    isReady: () => ready,
    isOverloaded: pressure.isOverloaded,
    log,
  });
  const url = await server.listen({ port: config.port, host: config.host });

  return {
    url,
    abandon() {
      for (const write of calls.pendingWrites()) {
        log.warn({ ...write, outcome: 'UNKNOWN', fault: 'process ended' }, 'call');
      }
    },
    async close() {
      ready = false;
      await new Promise((resolve) => setTimeout(resolve, config.shutdownDelayMs));
      await server.close();
      await calls.settled();
      await apollo.stop();
      pressure.close();
      keys.close();
      upstream.close();
      await tracing.close();
    },
  };
}
