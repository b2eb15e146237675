import got, { type HandlerFunction, Options } from 'got';
import type { Dispatcher } from 'undici';

/** What is different in each request of an operation. */
export type RequestParts = {
  /** The query string, including the question mark. */
  search: string;
  headers: Record<string, string>;
  body: string | undefined;
};

/** got without everything that could repeat a request: by default it retries GETs, and six of ours change state. */
const client = got.extend({
  // Each request copies the lists.
  retry: { limit: 0, methods: [], statusCodes: [], errorCodes: [] },
  followRedirect: false,
  throwHttpErrors: false,
  decompress: false,
  responseType: 'buffer',
  headers: {
    // The three types of docs/service-api.md, section 4.1. The type of the response is not checked.
    accept: 'application/json, text/json, text/plain;q=0.9',
    // Without Brotli: even a small body takes long if it is malicious.
    'accept-encoding': 'gzip, deflate',
    'user-agent': 'ledger-gateway',
  },
});

/** A request that got hands to undici. */
class Sending<Response> {
  readonly response: Promise<Response>;

  constructor(response: Promise<Response>) {
    this.response = response;
  }
}

/**
 * A function that sends requests of one operation with got. got's own transport costs several times as much as
 * undici's, so a handler responds in its place (docs/decisions/0009). What all requests of the operation have in
 * common is merged once. The handler returns no promise, for which got would create a second one.
 */
export function createGotRequest<Response>(url: string, method: 'GET' | 'POST') {
  type Send = (request: Dispatcher.DispatchOptions) => Promise<Response>;
  let next: { parts: RequestParts; send: Send } | undefined;
  const handler = ({ url, method, headers }: Options) => {
    if (!(url instanceof URL) || !next) throw new TypeError('no request');
    const { parts, send } = next;
    return new Sending(
      send({
        origin: url.origin,
        path: url.pathname + parts.search,
        method: method === 'POST' ? 'POST' : 'GET',
        headers: { ...headers, ...parts.headers },
        body: parts.body ?? null,
      }),
    );
  };
  // got declares its own response as the result of a handler.
  const instance = client.extend({ handlers: [handler as unknown as HandlerFunction] });
  const options = new Options(url, { method }, instance.defaults.options);
  // got copies these for each request, in 10 µs, and its own transport, which would use them, is not used.
  options.https = {};

  return (parts: RequestParts, send: Send): Promise<Response> => {
    next = { parts, send };
    try {
      // The third argument, which got does not declare, replaces the defaults of the instance.
      const sending: unknown = Reflect.apply(instance, undefined, [undefined, undefined, options]);
      if (sending instanceof Sending) return sending.response;
      throw new TypeError('got did not call its handler');
    } finally {
      next = undefined;
    }
  };
}
