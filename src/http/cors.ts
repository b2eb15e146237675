import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/** The response headers that pages of other origins may read. */
const exposedHeaders = [
  'x-request-id',
  'retry-after',
  'idempotent-replayed',
  'idempotent-in-progress',
];

/** Allows pages of these origins to send requests. */
export async function registerCors(app: FastifyInstance, origins: string[]): Promise<void> {
  if (origins.length === 0) return;
  await app.register(cors, {
    // Not false, which would turn preflight requests into 404.
    origin: (origin, callback) => callback(null, isAllowedOrigin(origins, origin) || []),
    methods: ['GET', 'POST'],
    strictPreflight: false,
    exposedHeaders,
    maxAge: 600,
  });
}

/** Whether pages of an origin are allowed. A pattern may have one `*`, for a label, or for the port if there is one. */
function isAllowedOrigin(
  patterns: readonly string[],
  origin: string | undefined,
): origin is string {
  return origin !== undefined && patterns.some((pattern) => matches(pattern, origin));
}

function matches(pattern: string, origin: string): boolean {
  const [start = '', end] = pattern.split('*');
  if (end === undefined) return origin === pattern;
  const isPort = end === '';
  if (isPort && `${origin}:` === start) return true;
  if (!origin.startsWith(start) || !origin.endsWith(end)) return false;
  const middle = origin.slice(start.length, origin.length - end.length);
  return isPort ? /^\d+$/.test(middle) : /^[\w-]+$/.test(middle);
}

/** The CORS headers of a response to a page of `origin`, where none of the framework's hooks run. */
export function corsHeaders(allowed: string[], origin: string | undefined): Record<string, string> {
  if (allowed.length === 0) return {};
  return {
    vary: 'Accept, Origin',
    'access-control-expose-headers': exposedHeaders.join(', '),
    ...(isAllowedOrigin(allowed, origin) && { 'access-control-allow-origin': origin }),
  };
}
