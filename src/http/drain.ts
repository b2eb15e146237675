import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { WaitGroup } from '../lib/wait-group.ts';
import type { ClientConnections } from './client-connections.ts';

/**
 * How often new requests may extend the delay before the port closes. With the default delay of 2 s, they extend it to
 * 8 s. HAProxy takes up to 6 s to notice a shutdown if its health check has the default settings.
 */
const MAX_DELAYS = 4;
/** A longer response, in characters or compressed bytes, is sent as bytes, and the shutdown waits for it. */
const LONG_RESPONSE = 16_384;
/** The memory for a response, in multiples of its length: it exists as text and as bytes. */
const MEMORY_PER_BYTE = 2;
/** How long a client may take to receive a long response, in milliseconds: it occupies memory. */
const MAX_SENDING_MS = 60_000;

/** The longest time from the signal until the port closes, in milliseconds. */
export function longestDelayMs(shutdownDelayMs: number): number {
  return shutdownDelayMs * MAX_DELAYS;
}

/** What the server waits for when it closes, so that no response is lost. */
export class Drain {
  /** GraphQL requests being executed, including those whose client has disconnected. */
  readonly executing = new WaitGroup();
  readonly #sending = new WaitGroup();
  readonly #delayMs: number;
  #closing = false;
  /** When a client last sent a GraphQL request, in the time of `performance.now()`. */
  #lastRequestAt = 0;

  /** `delayMs` is how long the port stays open after the last request, in milliseconds. */
  constructor(delayMs: number) {
    this.#delayMs = delayMs;
  }

  get isClosing(): boolean {
    return this.#closing;
  }

  /** A GraphQL request arrived. */
  requestArrived(): void {
    this.#lastRequestAt = performance.now();
  }

  register(app: FastifyInstance, connections: ClientConnections): void {
    // Fastify calls it first, and adds `connection: close` to all responses from then on.
    app.addHook('preClose', async () => {
      await this.#lastRequest();
      this.#closing = true;
      // Node considers a connection idle as soon as its response is handed over, and would cut it off.
      await this.#sending.idle();
      // Node also waits for connections that never send a request or the rest of one.
      connections.close();
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

  /**
   * Converts a long response to bytes, which avoids copies of the text, and waits for it when closing. From now on the
   * request holds only its response. Its connection may be closed if others need that memory, unless it tells the
   * outcome of a write.
   */
  prepareResponse(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
    const isText = typeof payload === 'string' || Buffer.isBuffer(payload);
    const { holding, record, raw } = request;
    const { socket } = raw;
    holding?.become(isText ? payload.length * MEMORY_PER_BYTE : 0);
    const isLong = isText && payload.length > LONG_RESPONSE;
    if (!isLong || !socket.writable) return payload;
    const timer = setTimeout(() => socket.destroy(), MAX_SENDING_MS);
    this.#sending.track(once(reply.raw, 'close').then(() => clearTimeout(timer)));
    if (record.writes.length === 0) {
      holding?.responseSent(() => {
        holding.close();
        socket.destroy();
      });
    }
    return typeof payload === 'string' ? Buffer.from(payload) : payload;
  }
}
