import { registerHooks } from 'node:module';

export { default } from './native-environment.js';

// Each query is compiled at its first execution.
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    if (!url.endsWith('/src/graphql/compiled-query.ts')) return loaded;
    return { ...loaded, source: String(loaded.source).replace('COMPILE_AT = 3', 'COMPILE_AT = 1') };
  },
});
