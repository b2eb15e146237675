import { findCompiled as find } from '../../src/graphql/compiled-query.ts';

/** How many executions found a compiled query. */
export let executions = 0;

/** `findCompiled`, with each query compiled at its first execution. */
export const findCompiled: typeof find = (document, operation, variables) => {
  const compiled = find(document, operation, variables, 1);
  if (compiled) executions += 1;
  return compiled;
};
