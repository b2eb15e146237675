import type { IncomingHttpHeaders } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import type { Readable } from 'node:stream';
import { buildConnector, Pool } from 'undici';

/** A request as it goes out. */
export type Dispatch = {
  method: 'GET' | 'POST';
  /** Path and query. */
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: string | null;
};

/** The head of an answer, and its body as it comes. */
export type Answer = { statusCode: number; headers: IncomingHttpHeaders; body: Readable };

/** The connections to the service: a pool of them for reads, and one of its own for each write. */
export class Connections {
  readonly #origin: string;
  readonly #pool: Pool;
  readonly #request: typeof http.request;
  readonly #agent: http.Agent;

  constructor(options: { baseUrl: URL; timeoutMs: number; maxConcurrency: number }) {
    const { origin, protocol } = options.baseUrl;
    const isSecure = protocol === 'https:';
    this.#origin = origin;
    this.#pool = new Pool(origin, {
      connections: options.maxConcurrency,
      pipelining: 1,
      allowH2: false,
      connect: buildConnector({ timeout: options.timeoutMs, allowH2: false }),
      // Our deadline is the only clock for the rest.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
    this.#request = isSecure ? https.request : http.request;
    // Without keep-alive: docs/decisions/0003.
    this.#agent = isSecure
      ? new https.Agent({ keepAlive: false })
      : new http.Agent({ keepAlive: false });
  }

  /** Sends a read on any connection of the pool. */
  read(request: Dispatch, signal: AbortSignal): Promise<Answer> {
    return new Promise((resolve, reject) => {
      // undici looks at a signal only once there is a connection.
      const end = () => reject(new Error('ended'));
      signal.addEventListener('abort', end, { once: true });
      this.#pool
        .request({ ...request, signal })
        .then(resolve, reject)
        .finally(() => signal.removeEventListener('abort', end));
    });
  }

  /**
   * Sends a write on a new connection, by Node's own client, which has no queue that could send it
   * twice. `onConnected` is told when the connection stands, which is when the request leaves.
   */
  write(request: Dispatch, signal: AbortSignal, onConnected: () => void): Promise<Answer> {
    const { method, path, headers, body } = request;
    return new Promise((resolve, reject) => {
      const url = this.#origin + path;
      const sent = this.#request(url, { method, headers, signal, agent: this.#agent });
      sent.once('socket', (socket) => {
        socket.once('encrypted' in socket ? 'secureConnect' : 'connect', onConnected);
      });
      sent.once('response', (answer) => {
        resolve({ statusCode: answer.statusCode ?? 0, headers: answer.headers, body: answer });
      });
      sent.on('error', reject);
      // An answer that switches protocols ends with neither a response nor an error.
      sent.once('close', () => reject(new Error('closed')));
      sent.end(body);
    });
  }

  /** Closes what is idle and ends what is not. */
  close(): void {
    this.#agent.destroy();
    this.#pool.destroy(() => {});
  }
}
