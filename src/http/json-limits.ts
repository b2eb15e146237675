import { InvalidRequest, limitExceeded } from '../errors/gateway-error.ts';
import { JsonLimitExceeded } from '../lib/json.ts';

export const jsonLimits = {
  /**
   * Values at all levels of a request body: 5,000 entity references with four fields each fit. Parsing and
   * checking more would block the event loop for too long.
   */
  values: 40_000,
  /** Lists and objects among them. graphql-js looks for every field of its type in an object, even in an empty one. */
  composites: 6_000,
  /** Levels of lists and objects in a request body, as in documents. */
  nesting: 50,
};

const names = {
  values: 'values in its variables',
  composites: 'lists and objects in its variables',
  nesting: 'levels of nesting',
};

/** Throws `OPERATION_LIMIT_EXCEEDED` if a request body exceeds a limit, and a bad request if it is not JSON. */
export function throwJsonError(error: unknown): never {
  if (!(error instanceof JsonLimitExceeded)) throw new InvalidRequest(400);
  throw limitExceeded(names[error.limit], jsonLimits[error.limit]);
}
