import { operatorPaths } from './admin-server.ts';

/**
 * Returns the path and query of a request for the framework's router, from the request's target. An unknown path becomes `/`,
 * which has no route: the router would decode a long path character by character, and parse one such as `/:a(` as the pattern
 * of a route.
 */
export function toUrl(target = ''): string {
  const path = pathOf(target);
  const isKnown = path === '/graphql' || operatorPaths.includes(path);
  return isKnown ? path + searchOf(target) : '/';
}

/** The path in the target of a request, which may be an absolute URL (RFC 9112, section 3.2). */
export function pathOf(target = ''): string {
  const [path = ''] = target.split('?', 1);
  return path.startsWith('/') ? path : path.replace(/^https?:\/\/[^/]*/i, '');
}

/** The query of a request's target, with its question mark. Empty if there is none. */
export function searchOf(target: string): string {
  const start = target.indexOf('?');
  return start < 0 ? '' : target.slice(start);
}
