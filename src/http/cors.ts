import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** The response headers that pages of other origins may read. */
export const exposedHeaders = ['x-request-id', 'retry-after', 'idempotent-replayed'];

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
