import { once } from 'node:events';
import { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Memory } from '../admission/memory.ts';
import type { ClientConnections } from './client-connections.ts';

/**
 * How often new requests may extend the delay before the port closes. With the default delay of 2 s, they extend it to
 * 8 s. HAProxy takes up to 6 s to notice a shutdown if its health check has the default settings.
 */
const MAX_DELAYS = 4;
/**
 * How often clients that take too long are disconnected while the server closes, in milliseconds. In this time, the rest of a short
 * body arrives.
 */
const OVERDUE_MS = 5000;

/** The longest time from the signal until the port closes, in milliseconds. */
export function longestDelayMs(shutdownDelayMs: number): number {
  return shutdownDelayMs * MAX_DELAYS;
}

/** The traffic that the shutdown watches. */
export type Drain = {
  /** When the last GraphQL request arrived, in the time of `performance.now()`. */
  lastRequestAt: number;
  /** How many requests are being executed, including those whose client has disconnected. */
  executing: number;
};

/**
 * Registers what the server waits for when it closes, so that no response is lost. The port stays open until `delayMs`
 * milliseconds after the last GraphQL request, within `longestDelayMs`. Then it waits for no client that takes too long.
 */
export function registerDrain(
  app: FastifyInstance,
  connections: ClientConnections,
  delayMs: number,
  { idle }: Pick<Memory, 'idle'>,
): Drain {
  const drain = { lastRequestAt: 0, executing: 0 };
  // Fastify calls this hook first, and adds `connection: close` to all responses from then on.
  app.addHook('preClose', async () => {
    // By then, load balancers have noticed the shutdown and send no more requests.
    const start = performance.now();
    const leftMs = () => {
      const quietAt = Math.max(start, drain.lastRequestAt) + delayMs;
      return Math.min(quietAt, start + longestDelayMs(delayMs)) - performance.now();
    };
    for (let ms = leftMs(); ms > 0; ms = leftMs()) await sleep(ms);
    // Node's own `close` ends a connection as soon as its last response is handed over, before the client has it, and waits
    // for those that never send a request.
    const closed = once(app.server, 'close');
    Server.prototype.close.call(app.server);
    connections.close();
    const dropOverdue = () => {
      for (const one of idle.filter((each) => each.isOverdue())) one.drop();
    };
    const timer = setInterval(dropOverdue, OVERDUE_MS);
    await closed;
    clearInterval(timer);
    while (drain.executing > 0) await sleep(10);
  });
  return drain;
}
