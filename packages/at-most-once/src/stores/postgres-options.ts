/** The time to connect, and for each statement, in milliseconds. */
export const TIMEOUT_MS = 1000;

/** How a pool connects to the server of a URL. */
export function postgresOptions(url: string) {
  const isLike = (value: string) => new RegExp(`[?&]${value}(&|$)`).test(url);
  return {
    // In `pg`, these modes are the same as `verify-full`, but it prints a warning about them, which is no line of the log.
    connectionString: isLike('uselibpqcompat=true')
      ? url
      : url.replace(/([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/, '$1verify-full'),
    // `pg` ignores this parameter of a URL.
    enableChannelBinding: isLike('enableChannelBinding=true'),
    connectionTimeoutMillis: TIMEOUT_MS,
    query_timeout: TIMEOUT_MS,
    keepAlive: true,
    application_name: 'ledger-gateway',
  };
}
