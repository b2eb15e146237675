import { limitExceeded } from '../errors/gateway-error.ts';
import { findExceeded } from '../lib/json-size.ts';

const limits = {
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

/**
 * Limits the values and levels in JSON text before it is parsed. Throws `OPERATION_LIMIT_EXCEEDED`. Text
 * that is not JSON passes, because the parser rejects it.
 */
export async function checkJson(text: Buffer): Promise<void> {
  const exceeded = await findExceeded(text, limits);
  if (exceeded) throw limitExceeded(names[exceeded], limits[exceeded]);
}
