import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { Client } from 'undici';
import { remove } from '../../lib/remove.ts';
import type { Sent } from '../upstream-error.ts';
import { createConnector } from './connector.ts';
import { KeepAlive } from './keep-alive.ts';
import type { Connection } from './send-once.ts';
import { acceptUnrequested } from './socket-changes.ts';
import type { TlsFiles } from './tls-files.ts';

export type ConnectionOptions = {
  baseUrl: URL;
  timeoutMs: number;
  tls: TlsFiles;
  /** How long the service keeps idle connections, in seconds. By default, this is learned. */
  keepAliveS?: number | undefined;
  observer: ConnectionObserver;
};

export type ConnectionObserver = {
  /** A connection was opened. */
  opened(): void;
  /** The service has closed a connection on which a write could have been sent. */
  closedEarly(): void;
  /** The service has sent a response that no request has asked for. From now on, each exchange has a connection of its own. */
  surplus(): void;
};

/** How long a connection rests after an exchange, in milliseconds, so that a surplus response reaches nobody. */
const REST_MS = 50;
/** How long a connection is used, in milliseconds. A further one may lead to another address or instance of the service. */
const LIFE_MS = 300_000;
/** How many connections that have rested may be idle. */
const MAX_RESTED = 512;

/** An open connection. Its times are those of `performance.now()`. */
type Open = {
  readonly client: Client;
  readonly generation: number;
  readonly expires: number;
  socket?: Socket;
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
  /** Those that rest, and those that have rested. The ones that were idle for longest come first. */
  readonly #resting: Open[] = [];
  readonly #rested: Open[] = [];
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
  acquire(effect: 'read' | 'write'): Required<Connection> {
    const open = this.#reuseIdle(effect) ?? this.#open();
    return {
      dispatcher: open.client,
      reset: !this.#isShared,
      release: (headers, sent) => this.#release(open, effect, headers, sent),
    };
  }

  /** Uses these files for new connections. Idle connections are closed, and those in use close after their response. */
  useTls(files: TlsFiles): void {
    this.#connect = this.#connectorFor(files);
    this.close();
  }

  /** Closes the idle connections; those in use close after their response. */
  close(): void {
    this.#generation += 1;
    const idle = [...this.#rested.splice(0), ...this.#resting.splice(0)];
    for (const { client } of idle) client.destroy(() => {});
  }

  /** One connector for many connections, so that files are parsed once. Its timeout is longer than any deadline. */
  #connectorFor(files: TlsFiles) {
    return createConnector(files, this.#options.timeoutMs * 2);
  }

  /**
   * A read takes the connection that was idle for longest: it shows how long the service keeps one, and it may be repeated. A
   * write takes the one that was idle for the shortest time, if it is certain to be open.
   */
  #reuseIdle(effect: 'read' | 'write'): Open | undefined {
    const now = performance.now();
    this.#endRests(now);
    const rested = this.#rested;
    const isUsable = ({ expires, socket }: Open) =>
      now < expires &&
      // The whole request was sent, although its response may have come earlier.
      socket?.writableLength === 0;
    const isRead = effect === 'read';
    const index = isRead ? rested.findIndex(isUsable) : rested.findLastIndex(isUsable);
    const open = rested[index];
    if (!open) return undefined;
    const idleMs = now - open.idleSince;
    if (!isRead && idleMs > this.#keepAlive.certainMs) return undefined;
    rested.splice(index, 1);
    open.idleMs = idleMs;
    return open;
  }

  #open(): Open {
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
    const open: Open = { client, generation: this.#generation, expires, idleSince: 0, idleMs: 0 };
    client.on('disconnect', (_origin, _targets, error) => this.#onClose(open, error));
    return open;
  }

  /** @param headers those of a complete response, or null */
  #release(
    open: Open,
    effect: 'read' | 'write',
    headers: IncomingHttpHeaders | null,
    sent: Sent,
  ): void {
    if (sent === 'yes') {
      if (effect === 'read') this.#keepAlive.answered(open.idleMs);
      open.idleMs = 0;
    }
    // Without a response, the request may still be waiting for its connection.
    if (!headers) return void open.client.destroy(() => {});
    this.#keepAlive.announced(headers);
    const isCurrent = this.#isShared && open.generation === this.#generation;
    if (!isCurrent) return void open.client.close(() => {});
    open.idleSince = performance.now();
    this.#resting.push(open);
  }

  /** Lets connections be used that have rested. If they are too many, those that were idle for longest are closed. */
  #endRests(now: number): void {
    for (let [first] = this.#resting; first; [first] = this.#resting) {
      if (now - first.idleSince < REST_MS) break;
      this.#resting.shift();
      this.#rested.push(first);
    }
    while (this.#rested.length > MAX_RESTED) this.#rested.shift()?.client.destroy(() => {});
  }

  /** A connection was closed, by either side. If its request was not sent yet, undici opens another one. */
  #onClose(open: Open, { code = '', message }: { code?: string; message: string }): void {
    const now = performance.now();
    if (remove(this.#rested, open) || remove(this.#resting, open)) {
      open.client.destroy(() => {});
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
