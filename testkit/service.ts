import { EventEmitter, once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { startHttpServer } from './http-server.ts';

/** A request as the service received it. */
export type Received = {
  method: string;
  /** Path and query. */
  url: string;
  /** The path without the query. */
  path: string;
  headers: IncomingMessage['headers'];
  body: string;
};

export type Reply = (response: ServerResponse, received: Received) => unknown;

/** A request that a test can respond to, with success, if the connection is still open. */
type Held = Received & { response: ServerResponse; respond(): void };

/** Starts a stub of the REST service. */
export async function startStub(reply: Reply) {
  const { server, origin } = await startHttpServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const body = await text(request).catch(() => undefined);
    if (body === undefined) return; // The connection closed first.
    const [path = ''] = url.split('?', 1);
    await reply(response, { method, url, path, headers, body });
  });
  return { url: `${origin}/`, server };
}

/** Starts a stub that records each request before it replies. Without a reply, it responds when the test says so. */
export async function startService(reply: Reply = () => {}) {
  const received: Held[] = [];
  const changes = new EventEmitter();
  let current = reply;
  let open = 0;
  let most = 0;
  const record = (response: ServerResponse, request: Received) => {
    const respond = () => {
      if (!response.destroyed) success(response, request);
    };
    open += 1;
    most = Math.max(most, open);
    response.once('close', () => {
      open -= 1;
      changes.emit('change');
    });
    received.push({ ...request, response, respond });
    changes.emit('change');
  };
  const service = await startStub((response, request) => {
    record(response, request);
    return current(response, request);
  });

  return {
    ...service,
    /** Replaces the reply. */
    respondWith(next: Reply): void {
      current = next;
    },
    /** Every request so far, in order of arrival. */
    received,
    /** The largest number of requests that were open at the same time. */
    most: () => most,
    /** Waits until this many requests have arrived, and returns the last of them. */
    async arrived(count: number): Promise<Held> {
      while (received.length < count) await once(changes, 'change');
      const request = received[count - 1];
      if (!request) throw new Error('no such request');
      return request;
    },
    /** Waits until no request is open. */
    async idle(): Promise<void> {
      while (open > 0) await once(changes, 'change');
    },
    /** Responds to all open requests, and to later ones at once. */
    release(): void {
      for (const { respond } of received) respond();
      changes.on('change', () => {
        for (const { response, respond } of received) if (!response.writableEnded) respond();
      });
    },
  };
}

/** A reply with status 200 and a value as JSON. A string is sent unchanged. */
export function json(value: unknown): Reply {
  return (response) => {
    response.setHeader('content-type', 'application/json');
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
}

/** A response that every operation decodes as success. */
export const success = json({ service_status: { status: 0 }, list: [], unresolved: '', status: 0 });

/** A reply with this status, body and headers. */
export function reply(status: number, body = '', headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, headers).end(body);
  };
}
