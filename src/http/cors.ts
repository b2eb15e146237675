import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** The response headers that pages of other origins may read. */
const exposedHeaders = ['x-request-id', 'retry-after', 'idempotent-replayed'];

/** Allows pages of these origins to send requests. */
export async function registerCors(app: FastifyInstance, origins: string[]): Promise<void> {
  if (origins.length === 0) return;
  await app.register(cors, {
    origin: origins,
    methods: ['GET', 'POST'],
    strictPreflight: false,
    exposedHeaders,
    maxAge: 600,
  });
}

/** The CORS headers of a response to a page of `origin`, where none of the framework's hooks run. */
export function corsHeaders(allowed: string[], origin: string | undefined): Record<string, string> {
  if (allowed.length === 0) return {};
  return {
    vary: 'Accept, Origin',
    'access-control-expose-headers': exposedHeaders.join(', '),
    ...(origin && allowed.includes(origin) && { 'access-control-allow-origin': origin }),
  };
}
