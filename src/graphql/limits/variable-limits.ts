import { limitExceeded } from '../../errors.ts';

/** Values at all levels of a request body. Each is examined several times before it is sent on. */
const MAX_VALUES = 250_000;

/** Limits the number of values in a request body. Throws `OPERATION_LIMIT_EXCEEDED`. */
export function checkVariableCount(body: unknown): void {
  const open = [body];
  let count = 0;
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    const children: unknown[] = Array.isArray(value) ? value : Object.values(value);
    count += children.length;
    if (count > MAX_VALUES) throw limitExceeded('values in its variables', MAX_VALUES);
    for (const child of children) if (typeof child === 'object' && child !== null) open.push(child);
  }
}
