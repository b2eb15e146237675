import type { IncomingMessage } from 'node:http';

/** The age at which a request counts as slow, and is added, in milliseconds. */
export const SLOW_AFTER_MS = 10_000;
/** How often slow bodies are examined, in milliseconds. */
const SAMPLE_MS = 1000;
/** The times below are numbers of samples: while the event loop is blocked, clients are not at fault. */
const SLOW_AFTER = SLOW_AFTER_MS / SAMPLE_MS;
/** How long a request may take without a verified token, and with one. */
const MAX_AGE = 30;
const MAX_VERIFIED_AGE = 600;
/** With a verified token, at least this many bytes must arrive in any period: 16 KB per second. */
const PERIOD = 10;
const MIN_BYTES = 160_000;

export type SlowRequest = {
  /** Whether its token is verified. */
  isVerified(): boolean;
  /** Called once, when the body is too slow. */
  reject(status: 408): void;
};

type SlowBody = {
  request: SlowRequest;
  age: number;
  /** The bytes that the connection had received at the latest samples, oldest first. */
  received: number[];
};

/**
 * Rejects bodies that arrive too slowly. Only requests that are already slow are added, so that all others
 * cost nothing.
 */
export class SlowBodies {
  readonly #bodies = new Map<IncomingMessage, SlowBody>();
  #timer: NodeJS.Timeout | undefined;

  /** The number of bodies that are being examined. */
  get size(): number {
    return this.#bodies.size;
  }

  add(message: IncomingMessage, request: SlowRequest): void {
    this.#bodies.set(message, { request, age: SLOW_AFTER, received: [message.socket.bytesRead] });
    this.#timer ??= setInterval(() => this.#examine(), SAMPLE_MS).unref();
  }

  #examine(): void {
    for (const [message, body] of this.#bodies) {
      const isOver = message.complete || message.socket.destroyed;
      if (!isOver && !isTooSlow(message, body)) continue;
      this.#bodies.delete(message);
      if (!isOver) body.request.reject(408);
    }
    if (this.#bodies.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function isTooSlow({ socket }: IncomingMessage, body: SlowBody): boolean {
  body.age += 1;
  body.received.push(socket.bytesRead);
  if (!body.request.isVerified()) return body.age >= MAX_AGE;
  if (body.age >= MAX_VERIFIED_AGE) return true;
  if (body.received.length <= PERIOD) return false;
  const before = body.received.shift() ?? 0;
  return socket.bytesRead - before < MIN_BYTES;
}
