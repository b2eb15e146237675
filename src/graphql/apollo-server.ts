import { ApolloServer } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import type { Logger } from 'pino';
import { createErrorFormatter } from '../errors.ts';
import type { Context } from './context.ts';
import { createExecutor } from './plugins/executor.ts';
import { createOperationChecks } from './plugins/operation-checks.ts';
import { operationLog } from './plugins/operation-log.ts';
import { createSchema, type FieldObserver, noIntrospection } from './schema.ts';

/** Starts Apollo Server with the schema and the plugins of the gateway. */
export async function startApolloServer(
  introspection: boolean,
  observe: FieldObserver,
  log: Logger,
): Promise<ApolloServer<Context>> {
  const schema = createSchema(observe);
  const formatError = createErrorFormatter(log);
  const apollo = new ApolloServer<Context>({
    schema,
    // A rule of our own instead of Apollo's, whose message addresses operators.
    introspection: true,
    validationRules: introspection ? [] : [noIntrospection],
    hideSchemaDetailsFromClientErrors: !introspection,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    formatError,
    logger: log,
    plugins: [
      operationLog,
      createOperationChecks(schema),
      createExecutor(schema, formatError),
      // Responses are never cached, and cache control costs time for every field.
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginLandingPageDisabled(),
    ],
  });
  await apollo.start();
  return apollo;
}
