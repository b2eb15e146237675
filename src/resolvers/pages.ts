import {
  operations,
  type PagedName,
  type Parameters,
  type Responses,
} from '../upstream/operations.ts';
import { invalidResponse } from '../upstream/upstream-error.ts';
import type { Loaders } from './loaders.ts';

/**
 * Reads all pages of a list, one after another, for references to its items. Each page counts as a list, so there are at most as
 * many as a request may read. A list whose declaration has null as its `pages` is one page.
 */
export async function* pagesOf<Name extends PagedName, Item extends object>(
  { list }: Pick<Loaders, 'list'>,
  name: Name,
  parameters: Parameters<Name>,
  toItems: (response: Responses[Name]) => Item[],
) {
  const { pages } = operations[name];
  const seen = new Set<unknown>();
  for (let next: unknown = null; ; ) {
    // The value comes from the service. If it is not as the parameter is declared, it is not sent.
    const page = { ...parameters, ...(pages && next !== null && { [pages.parameter]: next }) };
    const response = await list(name, page, toItems);
    yield response;
    next = pages ? (Reflect.get(response, pages.next) ?? null) : null;
    if (next === null) return;
    if (seen.has(next)) throw invalidResponse('a page follows itself');
    seen.add(next);
  }
}
