import type { IncomingHttpHeaders } from 'node:http';

/** A text like HIT, TCP_HIT or RefreshHit, or one of nginx for a response that is old, or that it has asked the service about. */
const stored = /(^|,)\s*(\w*hit|stale|updating|revalidated)\b/i;

/** Headers by which a cache shows that it has sent a response that it had stored. */
const marks: Record<string, RegExp> = {
  age: /[1-9]/,
  'cache-status': /;\s*hit\s*(=\s*\?1\s*)?(?=[;,]|$)/i,
  'x-cache': stored,
  'x-cache-status': stored,
  'cf-cache-status': stored,
  // The number of the request, and of the one whose response Varnish had stored.
  'x-varnish': /\d \d/,
};

/** The header that shows that a cache has sent a response, and not the service. Undefined if there is none. */
export function cacheMark(headers: IncomingHttpHeaders): string | undefined {
  return Object.keys(marks).find((name) => marks[name]?.test(String(headers[name] ?? '')));
}
