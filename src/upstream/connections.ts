import type { IncomingHttpHeaders } from 'node:http';
import { buildConnector, Client, type Dispatcher, Pool } from 'undici';

/** A request as it goes out. */
export type Dispatch = {
  method: 'GET' | 'POST';
  /** Path and query. */
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: string | null;
};

/** What can be done to an answer that is coming in. */
export type ExchangeControl = Pick<Dispatcher.DispatchController, 'pause' | 'resume'> & {
  /** Ends it, and its connection. */
  abort(error: Error): void;
};

/** Whoever takes an answer in, as it comes. What `head` throws ends it. */
export type Receiver = {
  /** The request leaves now: from here on the service may have it. */
  left(): void;
  head(status: number, headers: IncomingHttpHeaders, exchange: ExchangeControl): void;
  data(chunk: Buffer, exchange: ExchangeControl): void;
  end(): void;
  /** The exchange broke, was ended, or never began. */
  fail(error: Error): void;
};

/** How long an idle connection is relied upon at most, in milliseconds, whatever was announced. */
const MAX_IDLE_MS = 4000;
/** How much earlier than the service announces a connection is given up, in milliseconds. */
const MARGIN_MS = 1000;
/** How much earlier than asked undici's clock may ring, in milliseconds: it ticks twice a second. */
const CLOCK_MS = 600;
/** How long a service whose word did not hold is not believed, in milliseconds. */
const DISBELIEF_MS = 600_000;

/** The connections to the service: a pool of them for reads, and for writes only what is safe. */
export class Connections {
  readonly #pool: Pool;
  readonly #writers: Writers;

  constructor(options: { baseUrl: URL; timeoutMs: number; maxConcurrency: number }) {
    const { origin } = options.baseUrl;
    const settings = {
      pipelining: 1,
      allowH2: false,
      // One for all, so that TLS sessions are resumed.
      connect: buildConnector({ timeout: options.timeoutMs, allowH2: false }),
      // Our deadline is the only clock for the rest.
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveMaxTimeout: MAX_IDLE_MS,
      keepAliveTimeoutThreshold: MARGIN_MS,
    };
    this.#pool = new Pool(origin, { ...settings, connections: options.maxConcurrency });
    this.#writers = new Writers(() => new Client(origin, settings));
  }

  /** Sends a request on any connection of the pool. */
  always(request: Dispatch, signal: AbortSignal, receiver: Receiver): void {
    new Exchange(this.#pool, request, signal, receiver);
  }

  /** Sends a request on a connection that is new, or known to be alive (docs/decisions/0003). */
  whereSafe(request: Dispatch, signal: AbortSignal, receiver: Receiver): void {
    const { client, reset } = this.#writers.take();
    new Exchange(client, { ...request, reset }, signal, receiver, (headers) =>
      this.#writers.giveBack(client, headers),
    );
  }

  /** Ends all of them. */
  close(): void {
    this.#writers.close();
    this.#pool.destroy(() => {});
  }
}

/** One request and its answer. It can leave once: were it ever begun anew, it would end there. */
class Exchange implements Dispatcher.DispatchHandler {
  readonly #signal: AbortSignal;
  readonly #receiver: Receiver;
  readonly #done: (headers: IncomingHttpHeaders | null) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #headers: IncomingHttpHeaders = {};
  #over = false;

  /** `done` is told the headers of an answer that came whole, or null. */
  constructor(
    dispatcher: Dispatcher,
    request: Dispatcher.DispatchOptions,
    signal: AbortSignal,
    receiver: Receiver,
    done: (headers: IncomingHttpHeaders | null) => void = () => {},
  ) {
    this.#signal = signal;
    this.#receiver = receiver;
    this.#done = done;
    signal.addEventListener('abort', this.#end);
    if (signal.aborted) this.#end();
    else dispatcher.dispatch(request, this);
  }

  readonly #end = () => {
    const error = new Error('ended');
    if (this.#controller) this.#controller.abort(error);
    else this.#settle(() => this.#receiver.fail(error), null);
  };

  #settle(tell: () => void, headers: IncomingHttpHeaders | null): void {
    if (this.#over) return;
    this.#over = true;
    this.#signal.removeEventListener('abort', this.#end);
    this.#done(headers);
    tell();
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Ended while it waited for a connection, or begun before: nothing is sent.
    if (this.#over || this.#controller) {
      controller.abort(new Error('ended'));
      return;
    }
    this.#controller = controller;
    this.#receiver.left();
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (status < 200) return;
    this.#headers = headers;
    this.#receiver.head(status, headers, controller);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#receiver.data(chunk, controller);
  }

  onResponseEnd(): void {
    this.#settle(() => this.#receiver.end(), this.#headers);
  }

  onResponseError(_: Dispatcher.DispatchController, error: Error): void {
    this.#settle(() => this.#receiver.fail(error), null);
  }
}

/**
 * Connections for writes. An idle one is used again only where it is known to be alive: the service
 * announced on it for how long it keeps it (`Keep-Alive: timeout`), and has been seen to keep that word,
 * by leaving one open for as long as we would ever rely on it. Whatever breaks, or comes without the
 * announcement, takes that belief away for ten minutes.
 */
class Writers {
  readonly #open: () => Client;
  /** Those that may be used again; and the idle ones of them, until when. */
  readonly #kept = new Map<Client, { until: number } | null>();
  #believed = false;
  #disbelievedUntil = 0;

  constructor(open: () => Client) {
    this.#open = open;
  }

  /** A connection for one write, and whether it is to be closed after it (`reset`). */
  take(): { client: Client; reset: boolean } {
    if (this.#believed) {
      for (const [client, idle] of this.#kept) {
        if (!idle || performance.now() >= idle.until) continue;
        this.#kept.set(client, null);
        return { client, reset: false };
      }
    }
    const client = this.#open();
    // Before there is belief, one is kept to be watched.
    const keep = this.#believed || (this.#kept.size === 0 && !this.#isDisbelieved());
    if (keep) {
      this.#kept.set(client, null);
      client.on('disconnect', (_origin, _all, error) => this.#closed(client, error));
    }
    return { client, reset: !keep };
  }

  /** Takes a connection back, with the headers of the answer that came over it; null where none did. */
  giveBack(client: Client, headers: IncomingHttpHeaders | null): void {
    const isKept = this.#kept.has(client);
    const reliedMs = headers ? reliableMs(headers) : 0;
    if (isKept && reliedMs > 0) {
      this.#kept.set(client, { until: performance.now() + reliedMs });
      return;
    }
    if (isKept) this.#disbelieve();
    // Where there was no answer, the request may still be waiting for its connection.
    if (headers) client.close(() => {});
    else client.destroy(() => {});
  }

  #closed(client: Client, { code }: { code?: string }): void {
    const idle = this.#kept.get(client);
    if (idle === undefined) return;
    this.#kept.delete(client);
    // One that broke before its request left gives that a new connection.
    if (idle) client.destroy(() => {});
    // What undici does itself it calls information: closing an idle one when its time is over, but
    // also one that could not be kept after all, right away.
    const lasted = idle && performance.now() >= idle.until - CLOCK_MS;
    if (lasted && code === 'UND_ERR_INFO') this.#believed = true;
    else this.#disbelieve();
  }

  #isDisbelieved(): boolean {
    return performance.now() < this.#disbelievedUntil;
  }

  #disbelieve(): void {
    this.#believed = false;
    this.#disbelievedUntil = performance.now() + DISBELIEF_MS;
    this.close();
  }

  /** Closes what is idle; what is in use is not kept any more. */
  close(): void {
    for (const [client, idle] of this.#kept) if (idle) client.destroy(() => {});
    this.#kept.clear();
  }
}

/** For how long an idle connection is relied upon after an answer with these headers, in milliseconds. */
function reliableMs({ connection, 'keep-alive': keepAlive }: IncomingHttpHeaders): number {
  const seconds = /\btimeout=(\d+)/i.exec(String(keepAlive))?.[1];
  if (seconds === undefined || /\bclose\b/i.test(String(connection))) return 0;
  return Math.min(Number(seconds) * 1000 - MARGIN_MS, MAX_IDLE_MS);
}
