import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** The response headers that pages of other origins may read. */
const exposedHeaders = 'x-request-id, retry-after, idempotent-replayed, idempotent-in-progress';

/** Allows pages of these origins to send requests. */
export async function registerCors(app: FastifyInstance, origin: RegExp[]): Promise<void> {
  if (origin.length === 0) return;
  await app.register(cors, {
    origin,
    methods: ['GET', 'POST'],
    strictPreflight: false,
    exposedHeaders,
    maxAge: 600,
  });
}

/** Matches the origins of a pattern. It may have one `*`, which stands for a label of the host, or for the port if there is one. */
export function originPattern(pattern: string): RegExp {
  const wildcard = pattern.endsWith(':*') ? '(:\\d+)?' : '[\\w-]+';
  const parts = pattern.split(/:?\*/).map((part) => RegExp.escape(part));
  return new RegExp(`^${parts.join(wildcard)}$`);
}
