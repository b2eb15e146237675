/** Parameters that the client of PostgreSQL uses, and those of libpq that may be ignored with any value. */
const usableParameters = [
  ...['host', 'port', 'user', 'password', 'database', 'options', 'client_encoding'],
  ...['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation', 'uselibpqcompat'],
  ...['enableChannelBinding', 'application_name', 'fallback_application_name'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'query_timeout'],
  ...['connect_timeout', 'tcp_user_timeout', 'keepalives', 'keepalives_idle'],
  ...['keepalives_interval', 'keepalives_count', 'sslcompression', 'sslsni', 'krbsrvname'],
];

/**
 * Parameters of libpq that the client of PostgreSQL ignores, with values that ask only for what happens anyway.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS
 */
const usableValues = [
  ...[
    'channel_binding=disable',
    'channel_binding=prefer',
    'gssencmode=disable',
    'gssencmode=prefer',
  ],
  ...['load_balance_hosts=disable', 'sslcertmode=allow', 'target_session_attrs=any'],
  // The store rejects a standby.
  ...['target_session_attrs=primary', 'target_session_attrs=read-write'],
];

/** What the URL of a store must be instead, without quoting it. Undefined if it can be used. Throws if the text is no such URL. */
export function faultOfStoreUrl(text: string): string | undefined {
  const [, scheme = '', authority = '', rest = ''] =
    /^(rediss?|postgres(?:ql)?):\/\/(?=.)([^/?#]*)(.*)$/.exec(text) ?? [];
  // This checks the text, because URL rejects several ports, and a user without a host. A password may contain commas.
  const isWithoutHost = authority === '' || authority.endsWith('@');
  const url = scheme && URL.parse(`${scheme}://${authority}${isWithoutHost ? 'host' : ''}${rest}`);
  const parameters = scheme.startsWith('postgres') && url ? [...url.searchParams] : [];
  const host = parameters.find(([name]) => name === 'host')?.[1];
  if ((host ?? authority.split('@').at(-1))?.includes(',')) {
    return (
      'must name one host: several, and target_session_attrs, are not supported. ' +
      'Name an address that follows the primary, such as that of HAProxy or the name of a cluster'
    );
  }
  // Otherwise the end of a password would be taken for a path or a parameter, and a fault could name it.
  if (scheme && rest.includes('@')) {
    return 'must write /, ? and # in the user name and the password as %2F, %3F and %23, and an @ after the host as %40';
  }
  if (!url) throw new Error('Not the URL of a store.');
  if (isWithoutHost && !host) {
    return 'must name a host, or the directory of a socket of PostgreSQL as ?host=/DIRECTORY';
  }
  try {
    decodeURIComponent(url.username + url.password);
  } catch {
    return 'must write a % in the user name or the password as %25';
  }
  return scheme.startsWith('redis') ? faultOfRedisUrl(url) : faultOfParameters(parameters);
}

/** What the client of Redis would reject when it is created, or ignore. */
function faultOfRedisUrl({ pathname, search }: URL): string | undefined {
  if (search) return 'must not have parameters, which have no effect for Redis';
  return /^\/?\d*$/.test(pathname)
    ? undefined
    : 'must end with the number of a database, such as /0';
}

function faultOfParameters(parameters: [name: string, value: string][]): string | undefined {
  const isUsable = ([name, value]: [string, string]) =>
    usableParameters.includes(name) || usableValues.includes(`${name}=${value}`);
  const name = parameters.find((parameter) => !isUsable(parameter))?.[0];
  if (name === undefined) return undefined;
  const fault = `must not have the parameter ${name}, which is unknown or has no effect with this value`;
  if (name !== 'channel_binding') return fault;
  return `${fault}. Write enableChannelBinding=true to use channel binding if the server offers it`;
}
