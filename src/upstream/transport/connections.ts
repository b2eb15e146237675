import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { Client } from 'undici';
import { remove } from '../../lib/remove.ts';
import type { CallObserver } from '../call-observer.ts';
import type { Sent } from '../upstream-error.ts';
import { createConnector } from './connector.ts';
import { acceptUnrequested } from './socket-changes.ts';
import type { TlsFiles } from './tls-files.ts';

export type ConnectionOptions = {
  baseUrl: URL;
  timeoutMs: number;
  tls: TlsFiles;
  /** How long the service keeps idle connections, in seconds. By default, this is learned. */
  keepAliveS?: number | undefined;
  observer: Pick<CallObserver, 'opened' | 'closedEarly' | 'surplus'>;
};

/** How long a connection rests after an exchange, in milliseconds, so that a surplus response reaches nobody. */
const REST_MS = 50;
/** How long a connection is used, in milliseconds. A further one may lead to another address or instance of the service. */
const LIFE_MS = 300_000;
/** How many connections that have rested may be idle. If there are more, those that were idle for longest are closed. */
const MAX_RESTED = 512;

/** The longest time after which an idle connection is used for a write, in milliseconds. */
const MAX_CERTAIN_MS = 60_000;
/** The most that a service may differ from itself: Kestrel closes idle connections once a second. */
const MAX_MARGIN_MS = 2000;
/** For how long nothing is learned after the service has closed a connection that seemed certain. */
const RELEARN_MS = 60_000;

/** An open connection. Its times are those of `performance.now()`. */
export type Connection = {
  readonly dispatcher: Client;
  /** Whether it closes after its current exchange. */
  reset: boolean;
  readonly generation: number;
  readonly expires: number;
  socket?: Socket;
  /** The effect of its current exchange. */
  effect: 'read' | 'write';
  /** The end of its last exchange. */
  idleSince: number;
  /** How long it was idle before its current exchange, in milliseconds. 0 if it is new. */
  idleMs: number;
};

/**
 * The connections to the service, which all callers share. A connection is used again only if its last exchange ended whole, if
 * nothing has arrived since, and for a write, only while the service certainly keeps it open (docs/decisions/0030).
 */
export class Connections {
  readonly #options: ConnectionOptions;
  readonly #keepAlive: KeepAlive;
  /** Those that are idle. The ones that were idle for longest come first, and those that still rest come last. */
  readonly #idle: Connection[] = [];
  #connect: ReturnType<typeof createConnector>;
  /** A connection of an earlier generation is not used again. */
  #generation = 0;
  #isShared = true;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#keepAlive = new KeepAlive(options.keepAliveS);
    this.#connect = this.#connectorFor(options.tls);
  }

  /**
   * Acquires a connection for one exchange, at the end of an iteration of the event loop. undici waits for one more before it uses a
   * connection again, so a poll comes in between: what has arrived on the connection is noticed. If the service has closed it,
   * undici opens another one.
   */
  acquire(effect: 'read' | 'write'): Connection {
    const open = this.#reuseIdle(effect) ?? this.#open(effect);
    open.effect = effect;
    open.reset = !this.#isShared;
    return open;
  }

  /** Call this when the exchange is over, with the headers of a complete response, or null. */
  release(open: Connection, headers: IncomingHttpHeaders | null, sent: Sent): void {
    if (sent === 'yes') {
      if (open.effect === 'read') this.#keepAlive.answered(open.idleMs);
      open.idleMs = 0;
    }
    // Without a response, the request may still be waiting for its connection.
    if (!headers) return void destroy(open);
    this.#keepAlive.announced(headers);
    const isCurrent = this.#isShared && open.generation === this.#generation;
    if (!isCurrent) return void open.dispatcher.close(() => {});
    open.idleSince = performance.now();
    this.#idle.push(open);
  }

  /** Uses these files for new connections. Idle connections are closed, and those in use close after their response. */
  useTls(files: TlsFiles): void {
    this.#connect = this.#connectorFor(files);
    this.close();
  }

  /** Closes the idle connections; those in use close after their response. */
  close(): void {
    this.#generation += 1;
    for (const open of this.#idle.splice(0)) destroy(open);
  }

  /** One connector for many connections, so that files are parsed once. Its timeout is longer than any deadline. */
  #connectorFor(files: TlsFiles) {
    return createConnector(files, this.#options.timeoutMs * 2);
  }

  /**
   * A read takes the connection that was idle for longest: it shows how long the service keeps one, and it may be repeated. A
   * write takes the one that was idle for the shortest time, if it is certain to be open.
   */
  #reuseIdle(effect: 'read' | 'write'): Connection | undefined {
    const now = performance.now();
    const idle = this.#idle;
    const hasRested = ({ idleSince }: Connection) => now - idleSince >= REST_MS;
    if (idle.length > MAX_RESTED) {
      const tooMany = idle.findLastIndex(hasRested) + 1 - MAX_RESTED;
      for (const open of idle.splice(0, Math.max(0, tooMany))) destroy(open);
    }
    const isUsable = (open: Connection) =>
      // If a response came early, the rest of its request may still be waiting to be sent.
      hasRested(open) && now < open.expires && open.socket?.writableLength === 0;
    const isRead = effect === 'read';
    const open = isRead ? idle.find(isUsable) : idle.findLast(isUsable);
    if (!open) return undefined;
    const idleMs = now - open.idleSince;
    if (!isRead && idleMs > this.#keepAlive.certainMs) return undefined;
    remove(idle, open);
    open.idleMs = idleMs;
    return open;
  }

  #open(effect: 'read' | 'write'): Connection {
    const { baseUrl, keepAliveS, observer } = this.#options;
    const client = new Client(baseUrl.origin, {
      pipelining: 1,
      allowH2: false,
      connect: (target, callback) =>
        this.#connect(target, (...[error, socket]) => {
          if (error) return callback(error, null);
          observer.opened();
          open.socket = socket;
          callback(null, socket);
          acceptUnrequested(socket, () => client.stats.running === 0);
        }),
      // The deadline of the call replaces undici's timeouts.
      headersTimeout: 0,
      bodyTimeout: 0,
      // An idle connection is closed a second before the service would close it, as far as that is known.
      keepAliveTimeout: keepAliveS ? keepAliveS * 1000 - 1000 : LIFE_MS,
      keepAliveMaxTimeout: LIFE_MS,
      keepAliveTimeoutThreshold: 1000,
    });
    // Connections that are opened together do not end together.
    const expires = performance.now() + LIFE_MS * (0.8 + Math.random() / 5);
    const open: Connection = {
      dispatcher: client,
      reset: false,
      generation: this.#generation,
      expires,
      effect,
      idleSince: 0,
      idleMs: 0,
    };
    client.on('disconnect', (_origin, _targets, error) => this.#onClose(open, error));
    return open;
  }

  /** A connection was closed, by either side. If its request was not sent yet, undici opens another one. */
  #onClose(open: Connection, { code = '', message }: { code?: string; message: string }): void {
    const now = performance.now();
    if (remove(this.#idle, open)) {
      destroy(open);
      open.idleMs = now - open.idleSince;
    }
    const { observer } = this.#options;
    if (message === 'bad response') {
      if (this.#isShared) observer.surplus();
      this.#isShared = false;
      this.close();
    } else if (open.idleMs > 0 && isBreak.test(code) && this.#keepAlive.closed(open.idleMs)) {
      observer.closedEarly();
    }
    open.idleMs = 0;
  }
}

/** The codes of undici's errors, and of the system's, if the connection was closed by the service. */
const isBreak = /^UND_ERR_SOCKET$|^E/;

/** Closes a connection at once, without waiting for its request. */
function destroy(open: Connection): void {
  open.dispatcher.destroy(() => {});
}

/**
 * How long the service certainly keeps an idle connection: as it announces or its operator says, until it closes one earlier, or
 * as long as connections were idle on which it then answered a read. All durations are in milliseconds.
 */
class KeepAlive {
  #keptMs: number;
  /** Until then, nothing is learned. 0 if the service has not closed a connection too early yet. */
  #learnsFrom = 0;

  /** @param configuredS what its operator says, in seconds */
  constructor(configuredS = 0) {
    this.#keptMs = configuredS * 1000;
  }

  /** For how long an idle connection is certainly kept. */
  get certainMs(): number {
    return Math.min(this.#keptMs - Math.min(this.#keptMs / 2, MAX_MARGIN_MS), MAX_CERTAIN_MS);
  }

  /** The service has announced a time with these headers. It is no longer believed once it has proved wrong. */
  announced(headers: IncomingHttpHeaders): void {
    const seconds = /\btimeout=(\d+)/i.exec(String(headers['keep-alive']))?.[1];
    if (this.#learnsFrom > 0 || seconds === undefined) return;
    this.#keptMs = Math.max(this.#keptMs, Number(seconds) * 1000);
  }

  /** The service has answered on a connection that was idle for so long. */
  answered(idleMs: number): void {
    if (performance.now() >= this.#learnsFrom) this.#keptMs = Math.max(this.#keptMs, idleMs);
  }

  /** The service has closed a connection that was idle for so long. Returns whether it was expected to keep it. */
  closed(idleMs: number): boolean {
    const isEarly = idleMs < this.certainMs;
    this.#keptMs = isEarly ? 0 : Math.min(this.#keptMs, idleMs);
    if (isEarly) this.#learnsFrom = performance.now() + RELEARN_MS;
    return isEarly;
  }
}
