import { pino } from 'pino';
import { createServer } from '../../src/http/server.ts';
import { closeAfterTest } from '../../testkit/cleanup.ts';
import { createGate, createLane, createMemory } from './admission.ts';

type ServerOptions = Parameters<typeof createServer>[0];

/** Metrics that count nothing. */
export const silentMetrics: ServerOptions['metrics'] = {
  text: async () => '',
  contentType: 'text/plain',
  responded() {},
  shed() {},
};

/** Starts an HTTP server without GraphQL, whose requests need no token. It closes after the test. */
export async function startTestServer({
  corsOrigins = [],
  ...options
}: Partial<ServerOptions> & { corsOrigins?: string[] } = {}) {
  const fastify = await createServer({
    memory: createMemory(),
    requests: createGate({ limit: 100 }),
    authenticator: { authenticate: () => null },
    introspection: true,
    execute: async () => ({ status: 200, headers: [], body: '{"data":null}' }),
    settings: {
      host: '127.0.0.1',
      adminPort: undefined,
      forwardHeaders: [],
      corsOrigins,
      compression: true,
      shutdownDelayMs: 0,
    },
    explorer: undefined,
    isReady: () => true,
    lane: createLane(),
    metrics: silentMetrics,
    log: pino({ level: 'silent' }),
    ...options,
  });
  closeAfterTest(() => fastify.close());
  const url = await fastify.listen({ port: 0, host: '127.0.0.1' });
  return { server: fastify.server, url };
}
