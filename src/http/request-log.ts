import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import type { RefusalReason, RequestRecord } from '../telemetry/request-record.ts';
import type { ClientConnections } from './client-connections.ts';
import { securityHeaders } from './security-headers.ts';

declare module 'fastify' {
  interface FastifyRequest {
    record: RequestRecord;
    /** Aborted when the client disconnects before it has its response. */
    disconnected: AbortSignal;
  }
}

/** The status that is logged if the client disconnected, as nginx does. */
const CLIENT_CLOSED_REQUEST = 499;

type RequestLogOptions = {
  connections: ClientConnections;
  log: Logger;
  /** Counts a request by its status, and by the reason if its token was refused. */
  count(status: number, refusal: RefusalReason | undefined): void;
  /** Whether the server is shutting down. */
  isClosing(): boolean;
};

/** Returns the function that starts a request. When the request ends, it is logged and counted once. */
export function createRequestLog({ connections, log, count, isClosing }: RequestLogOptions) {
  return (request: FastifyRequest, reply: FastifyReply): void => {
    const start = performance.now();
    const disconnect = new AbortController();
    request.disconnected = disconnect.signal;
    request.record = { requestId: request.id, errorCodes: [], writes: [] };
    reply.headers(securityHeaders).header('x-request-id', request.id);

    const end = () => {
      if (!connections.remove(request.raw)) return;
      if (!reply.raw.writableFinished) disconnect.abort();
      // A connection that stays open after the shutdown began would keep the process running.
      if (isClosing() && connections.isIdle(request.raw)) request.raw.socket.destroySoon();
      const disconnected = disconnect.signal.aborted;
      const status = disconnected ? CLIENT_CLOSED_REQUEST : reply.statusCode;
      count(status, request.record.refusal);
      log.info(
        {
          requestId: request.id,
          method: request.method,
          path: request.routeOptions.url,
          operation: request.record.operation,
          outcome: disconnected ? 'CLIENT_DISCONNECTED' : outcomeOf(request.record),
          status,
          refusal: request.record.refusal,
          replay: request.record.isReplay,
          ms: Math.round(performance.now() - start),
        },
        'request',
      );
    };
    connections.add(request.raw, end);
    reply.raw.once('close', end);
  };
}

function outcomeOf({ errorCodes }: RequestRecord): string {
  return errorCodes.length > 0 ? [...new Set(errorCodes)].join() : 'ok';
}
