import type { IncomingHttpHeaders } from 'node:http';

/** Headers by which a cache shows that it has sent a response that it had stored. */
const marks: Record<string, RegExp> = {
  age: /[1-9]/,
  'cache-status': /;\s*hit\s*(=\s*\?1\s*)?(?=[;,]|$)/i,
  'x-cache': /(^|,)\s*hit/i,
  'x-cache-status': /(^|,)\s*hit/i,
};

/** The header that shows that a cache has sent a response, and not the service. Undefined if there is none. */
export function cacheMark(headers: IncomingHttpHeaders): string | undefined {
  return Object.keys(marks).find((name) => marks[name]?.test(String(headers[name] ?? '')));
}
