import { registerHooks } from 'node:module';

export { default } from './native-environment.js';

// Each query is compiled at its first execution.
registerHooks({
  load(url, context, next) {
    if (!url.endsWith('/src/graphql/compile-threshold.ts')) return next(url, context);
    return { format: 'module', source: 'export const COMPILE_AT = 1;', shortCircuit: true };
  },
});
