import type { IncomingHttpHeaders } from 'node:http';
import { setImmediate as immediate } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { Client } from 'undici';
import type { Connection } from './send-once.ts';

/** The longest time after which an idle connection is reused, in milliseconds, even if the service announced a longer one. */
export const MAX_IDLE_MS = 4000;
/** How early undici's timer may fire, in milliseconds. It ticks twice a second. */
const TIMER_TOLERANCE_MS = 600;
/** How long connections are not reused after the service has broken its `Keep-Alive` promise, in milliseconds. */
const COOLDOWN_MS = 600_000;

/** An idle connection of a caller. Times are those of `performance.now()`. */
type Idle = { until: number; caller: string };

/**
 * Connections for writes. An idle connection is reused only for the caller who used it before, and only while two things are
 * true: it is known how long the service keeps idle connections, from `Keep-Alive: timeout` or UPSTREAM_KEEP_ALIVE_S, and an
 * earlier connection has stayed open that long. UPSTREAM_KEEP_ALIVE_S is believed until it fails. If a connection closes
 * earlier, or breaks when it is reused, none is reused for some time (docs/decisions/0003).
 */
export class WriteConnections {
  readonly #open: () => Client;
  readonly #marginMs: number;
  /** How long the service keeps idle connections, in seconds, as its operator says. */
  readonly #configuredS: number | undefined;
  /** The connections in use that may be reused. */
  readonly #inUse = new Set<Client>();
  /** The idle connections. A further one takes the place of the one that was idle for longest. */
  readonly #idle = new LRUCache<Client, Idle>({
    max: 256,
    dispose: (_idle, client, reason) => void (reason === 'evict' && client.destroy(() => {})),
  });
  readonly #onEarlyClose: () => void;
  #keepAliveVerified: boolean;
  #cooldownUntil = 0;

  /** @param onEarlyClose called when the reuse ends because the service has closed a connection too early */
  constructor(
    origin: string,
    settings: Client.Options & { keepAliveTimeoutThreshold: number },
    keepAliveS: number | undefined,
    onEarlyClose: () => void,
  ) {
    this.#open = () => new Client(origin, settings);
    this.#marginMs = settings.keepAliveTimeoutThreshold;
    this.#configuredS = keepAliveS;
    this.#onEarlyClose = onEarlyClose;
    this.#keepAliveVerified = keepAliveS !== undefined;
  }

  /** Takes a connection for one write of a caller. */
  async take(caller: string): Promise<Required<Connection>> {
    const idle = this.#takeIdle(caller);
    // The service may have closed the connection together with the previous response. undici waits for one more iteration of
    // the event loop before it reuses a connection, so a poll comes in between.
    if (idle) await immediate();
    const dispatcher = idle ?? this.#open();
    // Until the announced time is verified, one connection is kept open to observe it.
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
    const idleMs = headers ? this.#idleMs(headers) : 0;
    if (isKept && idleMs > 0) {
      this.#idle.set(client, { until: performance.now() + idleMs, caller });
      return;
    }
    // A new connection that breaks does not break a promise of the service.
    if (isLost) this.#startCooldown();
    // Without a response, the request may still be waiting for its connection.
    if (headers) client.close(() => {});
    else client.destroy(() => {});
  }

  /** Milliseconds for which a connection may stay idle after a response with these headers. */
  #idleMs(headers: IncomingHttpHeaders): number {
    const announced = /\btimeout=(\d+)/i.exec(String(headers['keep-alive']))?.[1];
    const seconds = Math.min(Number(announced ?? Infinity), this.#configuredS ?? Infinity);
    if (seconds === Infinity || closes(headers)) return 0;
    return Math.min(seconds * 1000 - this.#marginMs, MAX_IDLE_MS);
  }

  #onClose(client: Client, { code }: { code?: string }): void {
    const idle = this.#idle.peek(client);
    if (!this.#inUse.delete(client) && !this.#idle.delete(client)) return;
    // The client is destroyed, because undici would connect again for a request that was not sent yet.
    if (idle) client.destroy(() => {});
    // With UND_ERR_INFO, undici closed the connection itself, at the end of the idle time or at once.
    if (code !== 'UND_ERR_INFO') this.#startCooldown();
    else if (idle && performance.now() >= idle.until - TIMER_TOLERANCE_MS) {
      this.#keepAliveVerified = true;
    }
  }

  #startCooldown(): void {
    if (performance.now() >= this.#cooldownUntil) this.#onEarlyClose();
    this.#keepAliveVerified = false;
    this.#cooldownUntil = performance.now() + COOLDOWN_MS;
    this.close();
  }
}

function closes({ connection }: IncomingHttpHeaders): boolean {
  return /\bclose\b/i.test(String(connection));
}
