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

/** The paths for operators. Successful requests for them are logged only at level `debug`. */
export const operatorPaths: readonly (string | undefined)[] = ['/livez', '/readyz', '/metrics'];

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
 * Serves the health checks and the metrics. If `adminPort` is configured, a second server on that port serves the metrics,
 * which clients then cannot reach, and the health checks, too. Its requests are not logged. It starts before the main server
 * and ends after it.
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
