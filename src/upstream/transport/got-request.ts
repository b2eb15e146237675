import got, { type HandlerFunction, Options } from 'got';

/** got without everything that could repeat a request: by default it retries GETs, and six of ours change state. */
const client = got.extend({
  // Each request copies the lists.
  retry: { limit: 0, methods: [], statusCodes: [], errorCodes: [] },
  followRedirect: false,
  headers: {
    // The three types of docs/service-api.md, section 4.1. The type of the response is not checked.
    accept: 'application/json, text/json, text/plain;q=0.9',
    // Without Brotli: even a small body takes long if it is malicious.
    'accept-encoding': 'gzip, deflate',
    'user-agent': 'ledger-gateway',
  },
});

/**
 * A function that prepares a request of one operation with got, for undici. got's own transport costs several times as
 * much as undici's, so a handler returns in its place what to send (docs/decisions/0009). What all requests of the
 * operation have in common is merged once.
 */
export function createGotRequest(url: URL, method: 'GET' | 'POST') {
  const { origin, pathname: path } = url;
  const prepare = ({ headers }: Options) => ({ origin, path, method, headers });
  // got declares its own response as the result of a handler.
  const instance = client.extend({ handlers: [prepare as unknown as HandlerFunction] });
  const options = new Options(url, { method }, instance.defaults.options);
  // got copies these for each request, in 10 µs, and its own transport, which would use them, is not used.
  options.https = {};
  // Nor does it declare the third argument, which replaces the defaults of the instance.
  type Call = (...all: [undefined, undefined, Options]) => ReturnType<typeof prepare>;
  const call = instance as unknown as Call;
  return () => call(undefined, undefined, options);
}
