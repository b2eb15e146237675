import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { startHttpServer } from './http-server.ts';

/** A request as the service received it. */
export type Received = {
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  body: string;
};

export type Reply = (response: ServerResponse, received: Received) => void | Promise<void>;

/** Starts a stub of the REST service that records each request before it replies. */
export async function startService(reply: Reply) {
  const received: Received[] = [];
  const { server, origin } = await startHttpServer(async (request, response) => {
    const { method = '', url = '', headers, rawHeaders } = request;
    const receivedRequest = { method, url, headers, rawHeaders, body: await text(request) };
    received.push(receivedRequest);
    await reply(response, receivedRequest);
  });
  return { url: `${origin}/`, received, server };
}

/** A reply with status 200 and a value as JSON. A string is sent unchanged. */
export function json(value: unknown): Reply {
  return (response) => {
    response.setHeader('content-type', 'application/json');
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
}

/** A reply with this status, body and headers. */
export function reply(status: number, body = '', headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, headers).end(body);
  };
}
