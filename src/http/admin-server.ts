import fastify, { type FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import type { HttpMetrics } from './http-metrics.ts';

export type AdminOptions = {
  settings: {
    host: string;
    /** The port of the second server. Without one, the metrics are on the main port. */
    adminPort: number | undefined;
  };
  isReady(): boolean;
  metrics: HttpMetrics;
  log: Logger;
};

/** The paths for operators. Requests for them are cheap, and logged only at level `debug` if they succeed. */
export const operatorPaths = new Set<string | undefined>(['/livez', '/readyz', '/metrics']);

/** Serves the health checks. */
function registerHealthChecks(app: FastifyInstance, isReady: () => boolean): void {
  app.get('/livez', async () => ({ status: 'ok' }));
  app.get('/readyz', async ({ state }, reply) => {
    if (isReady()) return { status: 'ok' };
    state?.errorCodes.push('NOT_READY'); // The admin server has no log of requests.
    return reply.code(503).send({ status: 'unavailable' });
  });
}

/**
 * Serves the health checks, and the metrics, on a port of their own if one is configured, where they can be kept from
 * clients. That server also has the health checks, is not logged, and starts before the main one and ends after it.
 */
export function registerAdminServer(main: FastifyInstance, options: AdminOptions): void {
  const { settings, isReady, metrics, log } = options;
  const { host, adminPort } = settings;
  registerHealthChecks(main, isReady);
  const admin = adminPort === undefined ? main : fastify();
  admin.get('/metrics', async (_, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
  if (adminPort === undefined) return;
  registerHealthChecks(admin, isReady);
  main.addHook('onReady', async () => {
    const address = await admin.listen({ port: adminPort, host });
    log.info({ address }, 'admin server listens');
  });
  main.addHook('onClose', () => admin.close());
}
