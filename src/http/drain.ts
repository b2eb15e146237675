import { once } from 'node:events';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { WaitGroup } from '../lib/wait-group.ts';
import type { ClientConnections } from './client-connections.ts';

/** A longer response, in characters, is sent as bytes, and the shutdown waits for it. */
const LONG_RESPONSE = 16_384;
/** How long a client may take to receive a long response, in milliseconds: it occupies memory. */
const MAX_SENDING_MS = 60_000;

/** What the server waits for when it closes, so that no response is lost. */
export class Drain {
  /** GraphQL requests being executed, including those whose client has disconnected. */
  readonly executing = new WaitGroup();
  readonly #sending = new WaitGroup();
  #closing = false;

  get isClosing(): boolean {
    return this.#closing;
  }

  register(app: FastifyInstance, connections: ClientConnections): void {
    app.addHook('preClose', async () => {
      this.#closing = true;
      // Node considers a connection idle as soon as its response is handed over, and would cut it off.
      await this.#sending.idle();
      // Node also waits for connections that never send a request or the rest of one.
      connections.closeIdle();
    });
    app.addHook('onClose', () => this.executing.idle());
  }

  /** Converts a long response to bytes, which avoids copies of the text, and waits for it when closing. */
  prepareResponse(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
    const isLong = typeof payload === 'string' && payload.length > LONG_RESPONSE;
    const { socket } = request.raw;
    if (!isLong || !socket.writable) return payload;
    const timer = setTimeout(() => socket.destroy(), MAX_SENDING_MS);
    this.#sending.track(once(reply.raw, 'close').then(() => clearTimeout(timer)));
    return Buffer.from(payload);
  }
}
