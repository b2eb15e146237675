import got, { Options } from 'got';

/** got without everything that could repeat a request: by default it retries GETs, and most of ours change state. */
const client = got.extend({
  retry: { limit: 0 },
  followRedirect: false,
  headers: {
    // The three types of docs/reference/service-api.md, section 4.1. The type of the response is not checked.
    accept: 'application/json, text/json, text/plain;q=0.9',
    // Without Brotli: even a small body takes long if it is malicious.
    'accept-encoding': 'gzip, deflate',
    'user-agent': 'ledger-gateway',
  },
});

/**
 * Defines the requests of an operation with got. undici sends them, because got takes several times as much CPU time, and
 * its errors do not say whether a request was sent (docs/decisions/0009). The options are merged once for all requests.
 */
export function defineRequest(url: URL, method: 'GET' | 'POST') {
  const { headers } = new Options(url, { method }, client.defaults.options);
  return { origin: url.origin, path: url.pathname, method, headers };
}
