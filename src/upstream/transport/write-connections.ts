import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate as immediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Client } from 'undici';
import type { Connection } from './send-once.ts';

/** Milliseconds after which an idle connection is not reused, regardless of what the service announced. */
export const MAX_IDLE_MS = 4000;
/** How much too early undici's timer may fire, in milliseconds: it ticks twice a second. */
const TIMER_TOLERANCE_MS = 600;
/** Cooldown after a broken keep-alive promise, in milliseconds. */
const COOLDOWN_MS = 600_000;

/** An idle connection of a caller. The time is that of `performance.now()`. */
type Idle = { until: number; caller: string };

/**
 * Connections for writes. An idle one is reused only by the caller who used it, and while it is verified open: the
 * service announced how long it keeps it (`Keep-Alive: timeout`), and an earlier connection stayed open that long. If a
 * connection closes earlier, or breaks when it is reused, the cooldown starts (docs/decisions/0003).
 */
export class WriteConnections {
  readonly #open: () => Client;
  readonly #marginMs: number;
  /** The connections in use that may be reused. */
  readonly #inUse = new Set<Client>();
  /** A further one takes the place of the one idle for longest. */
  readonly #idle = new LRUCache<Client, Idle>({
    max: 256,
    dispose: (_idle, client, reason) => void (reason === 'evict' && client.destroy(() => {})),
  });
  #keepAliveVerified = false;
  #cooldownUntil = 0;

  constructor(origin: string, settings: Client.Options & { keepAliveTimeoutThreshold: number }) {
    this.#open = () => new Client(origin, settings);
    this.#marginMs = settings.keepAliveTimeoutThreshold;
  }

  /** A connection for one write of a caller. */
  async take(caller: string): Promise<Required<Connection>> {
    const idle = this.#takeIdle(caller);
    // A close may have arrived together with the previous response. undici waits for one more iteration of
    // the event loop before it reuses a connection, so there is a poll between the two.
    if (idle) await immediate();
    const dispatcher = idle ?? this.#open();
    // Until keep-alive is verified, one connection is kept to observe it.
    const isFirst = this.#inUse.size + this.#idle.size === 0;
    const isObserved = isFirst && performance.now() >= this.#cooldownUntil;
    const keep = idle !== undefined || this.#keepAliveVerified || isObserved;
    if (keep && !idle) {
      this.#inUse.add(dispatcher);
      dispatcher.on('disconnect', (_origin, _targets, error) => this.#onClose(dispatcher, error));
    }
    return {
      dispatcher,
      reset: !keep,
      release: (headers, sent) =>
        this.#release(dispatcher, caller, headers, idle !== undefined && sent === 'maybe'),
    };
  }

  /** Closes the idle connections; those in use close after their response. */
  close(): void {
    for (const client of this.#idle.keys()) client.destroy(() => {});
    this.#idle.clear();
    this.#inUse.clear();
  }

  #takeIdle(caller: string): Client | undefined {
    if (!this.#keepAliveVerified) return undefined;
    const now = performance.now();
    const isReusable = ([, idle]: [Client, Idle]) => idle.caller === caller && now < idle.until;
    const [client] = this.#idle.entries().find(isReusable) ?? [];
    if (!client) return undefined;
    this.#idle.delete(client);
    this.#inUse.add(client);
    return client;
  }

  #release(
    client: Client,
    caller: string,
    headers: IncomingHttpHeaders | null,
    isLost: boolean,
  ): void {
    const isKept = this.#inUse.delete(client);
    const idleMs = headers ? announcedIdleMs(headers, this.#marginMs) : 0;
    if (isKept && idleMs > 0) {
      this.#idle.set(client, { until: performance.now() + idleMs, caller });
      return;
    }
    // Neither a new connection that breaks nor one with `connection: close` breaks a keep-alive promise.
    const announcesNothing = headers !== null && !this.#keepAliveVerified && !closes(headers);
    if (isKept && (isLost || announcesNothing)) this.#startCooldown();
    // Without a response, the request may still be waiting for its connection.
    if (headers) client.close(() => {});
    else client.destroy(() => {});
  }

  #onClose(client: Client, { code }: { code?: string }): void {
    const idle = this.#idle.peek(client);
    if (!this.#inUse.delete(client) && !this.#idle.delete(client)) return;
    // Destroy it, or undici connects again for a request that was not sent yet.
    if (idle) client.destroy(() => {});
    // UND_ERR_INFO: undici closed the connection itself, at the end of the idle time or right away.
    if (code !== 'UND_ERR_INFO') this.#startCooldown();
    else if (idle && performance.now() >= idle.until - TIMER_TOLERANCE_MS) {
      this.#keepAliveVerified = true;
    }
  }

  #startCooldown(): void {
    this.#keepAliveVerified = false;
    this.#cooldownUntil = performance.now() + COOLDOWN_MS;
    this.close();
  }
}

/** Milliseconds for which a connection may stay idle after a response with these headers. */
function announcedIdleMs(headers: IncomingHttpHeaders, marginMs: number): number {
  const seconds = /\btimeout=(\d+)/i.exec(String(headers['keep-alive']))?.[1];
  if (seconds === undefined || closes(headers)) return 0;
  return Math.min(Number(seconds) * 1000 - marginMs, MAX_IDLE_MS);
}

function closes({ connection }: IncomingHttpHeaders): boolean {
  return /\bclose\b/i.test(String(connection));
}
