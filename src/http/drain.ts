import { once } from 'node:events';
import { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { WaitGroup } from '../lib/wait-group.ts';
import type { ClientConnections } from './client-connections.ts';

/**
 * How often new requests may extend the delay before the port closes. With the default delay of 2 s, they extend it to
 * 8 s. HAProxy takes up to 6 s to notice a shutdown if its health check has the default settings.
 */
const MAX_DELAYS = 4;

/** The longest time from the signal until the port closes, in milliseconds. */
export function longestDelayMs(shutdownDelayMs: number): number {
  return shutdownDelayMs * MAX_DELAYS;
}

/** What the server waits for when it closes, so that no response is lost. */
export class Drain {
  /** GraphQL requests being executed, including those whose client has disconnected. */
  readonly executing = new WaitGroup();
  readonly #delayMs: number;
  /** When a client last sent a GraphQL request, in the time of `performance.now()`. */
  #lastRequestAt = 0;

  /** `delayMs` is how long the port stays open after the last request, in milliseconds. */
  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  requestArrived(): void {
    this.#lastRequestAt = performance.now();
  }

  register(app: FastifyInstance, connections: ClientConnections): void {
    // Fastify calls it first, and adds `connection: close` to all responses from then on.
    app.addHook('preClose', async () => {
      await this.#lastRequest();
      // Node's own `close` ends a connection as soon as its last response is handed over, before the client has it, and waits
      // for those that never send a request.
      const closed = once(app.server, 'close');
      Server.prototype.close.call(app.server);
      connections.close();
      await closed;
    });
    app.addHook('onClose', () => this.executing.idle());
  }

  /** Waits until load balancers have noticed the shutdown and send no more requests. */
  async #lastRequest(): Promise<void> {
    const start = performance.now();
    const end = start + longestDelayMs(this.#delayMs);
    for (;;) {
      const quietAt = Math.max(start, this.#lastRequestAt) + this.#delayMs;
      const leftMs = Math.min(quietAt, end) - performance.now();
      if (leftMs <= 0) return;
      await sleep(leftMs);
    }
  }
}
