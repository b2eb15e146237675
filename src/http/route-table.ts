import type { FastifyInstance } from 'fastify';

/** A path without a route, which replaces every unknown path. */
const UNKNOWN = '/';

/**
 * The methods of each path that has a route. The framework's router gets no other path: it would decode a long one
 * character by character, and parse one such as `/:a(` as the pattern of a route.
 */
export class RouteTable {
  readonly #routes: { path: string; methods: string[] }[] = [];

  /** Remembers every route that is registered after this call. */
  watch(app: FastifyInstance): void {
    app.addHook('onRoute', ({ url: path, method }) => {
      if (!path.startsWith('/')) return; // CORS has a route for all paths.
      const methods = [method].flat();
      const known = this.#find(path);
      if (known) known.methods.push(...methods);
      else this.#routes.push({ path, methods });
    });
  }

  /** The methods of a path. Empty if it is unknown. */
  methodsOf(path: string): readonly string[] {
    return this.#find(path)?.methods ?? [];
  }

  /** The path and query of a request for the router, from its target. */
  toUrl(target = ''): string {
    const path = pathOf(target);
    return this.#find(path) ? path + searchOf(target) : UNKNOWN;
  }

  /** Compares with each path, because a map would hash every character of a long one. */
  #find(path: string) {
    return this.#routes.find((route) => route.path === path);
  }
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
