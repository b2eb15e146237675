import { registerHooks } from 'node:module';
import NativeEnvironment from './native-environment.js';

// `src/` gets the one of compile-at-once.ts.
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const isReplaced =
      resolved.url.endsWith('/src/graphql/compiled-query.ts') &&
      context.parentURL?.includes('/src/');
    return isReplaced
      ? { ...resolved, url: new URL('compile-at-once.ts', import.meta.url).href }
      : resolved;
  },
});

/** The environment in which each query is compiled at its first execution. A test file that executes none of them fails. */
export default class CompiledEnvironment extends NativeEnvironment {
  #replacement;
  #before;

  async setup() {
    await super.setup();
    this.#replacement = await import('./compile-at-once.ts');
    this.#before = this.#replacement.executions;
  }

  async teardown() {
    await super.teardown();
    if (this.#replacement.executions === this.#before) throw new Error('No query was compiled');
  }
}
