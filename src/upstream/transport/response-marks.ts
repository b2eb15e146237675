import type { IncomingHttpHeaders } from 'node:http';
import { printable } from '../../lib/short-text.ts';

/** A text like HIT, TCP_HIT or RefreshHit, or one of nginx for a response that is old, or that it has asked the service about. */
const stored = /(^|,)\s*(\w*hit|stale|updating|revalidated)\b/i;

/** Headers by which a cache shows that it has sent a response that it had stored, and not the service. */
export const cacheMarks = {
  age: /[1-9]/,
  'cache-status': /;\s*hit\s*(=\s*\?1\s*)?(?=[;,]|$)/i,
  'x-cache': stored,
  'x-cache-status': stored,
  'cf-cache-status': stored,
  // The number of the request, and of the one whose response Varnish had stored.
  'x-varnish': /\d \d/,
};

/** What to do about a cache. */
export const cacheHint =
  'Switch it off for UPSTREAM_BASE_URL, because it answers the GET requests that change something too.';

/** Headers by which something shows that it stands before the service. With `Server`, it may also be the service itself. */
const proxies = {
  server:
    /nginx|openresty|caddy|envoy|haproxy|traefik|kong|varnish|squid|\bats\b|cloudf|awselb|awsalb/i,
  via: /./,
  'x-varnish': /./,
  'x-cache': /./,
  'x-cache-status': /./,
};

/** The header that shows that a proxy seems to stand before the service, with its value. Undefined if there is none. */
export function proxyMark(headers: IncomingHttpHeaders): string | undefined {
  const name = markIn(headers, proxies);
  return name && `${name}: ${printable(String(headers[name]))}`;
}

/** The header that shows something by one of these marks. Undefined if there is none. */
export function markIn(
  headers: IncomingHttpHeaders,
  marks: Readonly<Record<string, RegExp>>,
): string | undefined {
  for (const name in marks) {
    if (name in headers && marks[name]?.test(String(headers[name]))) return name;
  }
  return undefined;
}

/** What to do about a proxy. */
export const proxyHint =
  'It must send each GET request once, and answer none itself. npm run contract -- <UPSTREAM_BASE_URL> --stand-in <port> finds out whether it does: docs/how-to/proxy-before-the-service.md.';
