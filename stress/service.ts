import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { portOf } from '../test/support/port.ts';
import type { Defer } from './harness.ts';

/** A request to the service, and its response. */
export type Exchange = {
  request: IncomingMessage;
  response: ServerResponse;
  /** The name of the operation. */
  path: string;
  project: string;
  body: string;
};

/** How the service responds. */
export type Behaviour = (exchange: Exchange) => void;

export type Service = {
  url: string;
  /** May be replaced at any time. */
  behaviour: Behaviour;
  /** The number of requests so far. */
  calls: number;
  /** How often each write arrived, by its id. */
  seen: Map<string, number>;
  /** Responses that are not complete and whose connection is open. */
  open: Set<ServerResponse>;
};

/** Starts the service in this process. It announces a keep-alive timeout unless that is 0. */
export async function startService(
  behaviour: Behaviour,
  keepAliveS: number,
  defer: Defer,
): Promise<Service> {
  const server = createServer(async (request, response) => {
    try {
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://service');
      service.calls += 1;
      service.open.add(response);
      response.once('close', () => service.open.delete(response));
      const body = await text(request);
      const id = /"description":"([^"]+)"/.exec(body)?.[1];
      if (id !== undefined) service.seen.set(id, (service.seen.get(id) ?? 0) + 1);
      const project = searchParams.get('project') ?? '';
      service.behaviour({ request, response, path: pathname.slice(1), project, body });
    } catch {
      response.destroy(); // The gateway closed the connection before the request was complete.
    }
  });
  server.keepAliveTimeout = keepAliveS * 1000;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const service: Service = {
    url: `http://127.0.0.1:${portOf(server.address())}/`,
    behaviour,
    calls: 0,
    seen: new Map(),
    open: new Set(),
  };
  return service;
}

const successBody = JSON.stringify({ service_status: { status: 0 }, list: [], status: 0 });

/** Responds with a success that is valid for every operation. */
export const succeed: Behaviour = ({ response }) => {
  if (response.destroyed) return;
  response.setHeader('content-type', 'application/json');
  response.end(successBody);
};
