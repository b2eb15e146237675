import { ApolloServer } from '@apollo/server';
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginInlineTraceDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled';
import type { Logger } from 'pino';
import { createErrorFormatter } from '../errors/graphql-error-format.ts';
import type { Context } from './context.ts';
import { createExecutor } from './plugins/executor.ts';
import { createOperationChecks } from './plugins/operation-checks.ts';
import { operationLog } from './plugins/operation-log.ts';
import { createSchema, type FieldObserver, noIntrospection } from './schema.ts';
import { TrustedDocuments } from './trusted-documents.ts';

/** Headers that a browser sends across origins only after a preflight; the first two are Apollo's own. */
const preflightHeaders = ['x-apollo-operation-name', 'apollo-require-preflight', 'authorization'];

type ApolloOptions = {
  introspection: boolean;
  /** The only documents that are executed, by id. Undefined if all are. */
  trustedDocuments: ReadonlyMap<string, string> | undefined;
  /** Throws a GatewayError if a document exceeds a limit. */
  checkDocument(document: string): void;
  observe: FieldObserver;
  log: Logger;
};

/**
 * Starts Apollo Server with the schema and the plugins of the gateway. Throws a ConfigError for a trusted
 * document that is invalid.
 */
export async function startApolloServer({
  introspection,
  trustedDocuments: manifest,
  checkDocument,
  observe,
  log,
}: ApolloOptions): Promise<{
  apollo: ApolloServer<Context>;
  trusted: TrustedDocuments | undefined;
}> {
  const schema = createSchema(observe);
  const rules = introspection ? [] : [noIntrospection];
  const trusted = manifest && new TrustedDocuments(manifest, schema, rules, checkDocument);
  const formatError = createErrorFormatter(log);
  const apollo = new ApolloServer<Context>({
    schema,
    // A rule of our own instead of Apollo's, whose message addresses operators.
    introspection: true,
    validationRules: rules,
    ...(trusted && { documentStore: trusted }),
    hideSchemaDetailsFromClientErrors: !introspection,
    csrfPrevention: { requestHeaders: preflightHeaders },
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    formatError,
    logger: log,
    plugins: [
      operationLog,
      createOperationChecks(schema),
      createExecutor(schema, formatError, trusted?.documents),
      // Responses are never cached, and cache control costs time for every field.
      ApolloServerPluginCacheControlDisabled(),
      ApolloServerPluginInlineTraceDisabled(),
      ApolloServerPluginLandingPageDisabled(),
    ],
  });
  await apollo.start();
  return { apollo, trusted };
}
