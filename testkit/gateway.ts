import { z } from 'zod';
import { startGateway } from '../src/gateway.ts';
import { createLogger } from '../src/telemetry/log.ts';
import { closeAfterTest } from './cleanup.ts';
import { readConfig } from './config.ts';
import { environmentFor } from './environment.ts';
import { postTo } from './graphql-operation.ts';
import { testIssuer } from './issuer.ts';
import { createLogRecorder } from './log-recorder.ts';

const responseSchema = z.object({
  data: z.any().optional(),
  errors: z
    .array(
      z.object({
        message: z.string(),
        path: z.array(z.union([z.string(), z.number()])).optional(),
        extensions: z.looseObject({
          code: z.string(),
          requestId: z.string(),
          retryable: z.boolean(),
        }),
      }),
    )
    .optional(),
});

/**
 * Starts the gateway in this process, in front of a service, with these environment variables. Its log has the format of
 * production.
 */
export async function startTestGateway(
  service: { url: string },
  variables: Record<string, string> = {},
) {
  const config = readConfig(await environmentFor(service, variables));
  const token = await (await testIssuer()).token();
  const log = createLogRecorder();
  let logText = '';
  const destination = {
    write(line: string) {
      logText += line;
      log.add(line);
    },
    writeNow: () => undefined,
  };
  const gateway = await startGateway(config, createLogger(config.logLevel, destination));
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= gateway.close());
  closeAfterTest(close);

  const authorization = `Bearer ${token}`;
  const post = (body: unknown, headers: Record<string, string> = {}, signal?: AbortSignal | null) =>
    postTo(gateway.url, body, { authorization, ...headers }, signal);
  const parse = (response: Awaited<ReturnType<typeof postTo>>) => ({
    ...response,
    ...responseSchema.parse(JSON.parse(response.text)),
  });

  return {
    url: gateway.url,
    close,
    token,
    logs: log.lines,
    /** The complete log as text. */
    logText: () => logText,
    /** Waits for a log line with these properties, and returns the first one. */
    logLine: log.line,
    /** Posts a body: a string unchanged, anything else as JSON. With a valid token by default. `signal` disconnects. */
    post,
    /** Posts a GraphQL operation and parses the response. */
    graphql: async (
      query: string,
      variables?: Record<string, unknown>,
      headers?: Record<string, string>,
    ) => parse(await post({ query, variables }, headers)),
    graphqlWithoutToken: async (query: string) => parse(await postTo(gateway.url, { query }, {})),
  };
}
