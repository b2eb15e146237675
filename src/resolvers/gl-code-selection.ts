import type { GlCodeOrder, QueryGlCodesArgs } from '../generated/resolvers.ts';
import type { Loaders } from '../graphql/loaders.ts';
import { markPrefix, prepareSearch, type SearchText, searchItems } from '../lib/search-text.ts';
import { sortInTurns } from '../lib/sort-in-turns.ts';
import type { GlCodeEntity } from './gl-code.ts';

/** What codes are selected and sorted by. */
export type CodeTexts = Pick<GlCodeEntity, 'code' | 'name' | 'value'>;

type Selection = Pick<QueryGlCodesArgs, 'only' | 'search' | 'codePrefix' | 'orderBy'>;
type Turn = () => Promise<void> | undefined;

/** Whether a selection keeps all codes, in the order of the service. */
export function selectsAll({ only, search, codePrefix, orderBy }: Selection): boolean {
  return !only && !search?.trim() && !codePrefix && orderBy === 'SERVICE';
}

/**
 * The codes of a list that `only`, `search` and `codePrefix` keep, sorted by `orderBy`. What a search finds begins with the codes
 * that are equal to its text, unless it is sorted otherwise.
 */
export async function selectCodes<Code extends CodeTexts>(
  all: Code[],
  { only, search, codePrefix, orderBy }: Selection,
  loaders: Pick<Loaders, 'once' | 'derive'>,
): Promise<Code[]> {
  const wanted = search?.trim();
  const text = wanted || codePrefix ? await loaders.once(all, searchTextOf) : undefined;
  const order = orderBy === 'SERVICE' ? undefined : await loaders.once(all, orders[orderBy]);
  return loaders.derive(all, () => {
    // A search without letters and digits must occur as it is.
    const found =
      text && wanted ? (searchItems(text, wanted) ?? containing(all, wanted)) : undefined;
    const begins = text && codePrefix ? markPrefix(text, codePrefix) : undefined;
    const codes = only && new Set<string | null>(only);
    const isKept = (index: number) =>
      begins?.[index] !== 0 && (!codes || codes.has(all[index]?.code ?? null));
    const kept: Code[] = [];
    for (const index of sorted(found, order) ?? all.keys()) {
      if (isKept(index)) kept.push(all[index] as Code); // The index is in range.
    }
    return kept;
  });
}

/** The indexes that were found, in an order if there is one. All indexes in this order if nothing was searched. */
function sorted(
  found: readonly number[] | undefined,
  order: readonly number[] | undefined,
): readonly number[] | undefined {
  if (!found || !order) return found ?? order;
  const isFound = new Uint8Array(order.length);
  for (const index of found) isFound[index] = 1;
  return order.filter((index) => isFound[index]);
}

/** The indexes of the codes with a text that contains another one as it is. */
function containing(all: readonly CodeTexts[], search: string): number[] {
  const contains = (text: string | null) => text?.includes(search);
  const isFound = ({ code, name, value }: CodeTexts) => [code, name, value].some(contains);
  return all.flatMap((code, index) => (isFound(code) ? [index] : []));
}

function searchTextOf(all: readonly CodeTexts[], turn: Turn): Promise<SearchText> {
  return prepareSearch(all, ({ code, name, value }) => ({ code, others: [name, value] }), turn);
}

/** The root of the Unicode Collation Algorithm, which is also that of English. */
const { compare } = new Intl.Collator('en', { numeric: true });

/** How many characters of a text are compared. To compare thousands of digits as a number takes up to a millisecond. */
const MAX_COMPARED = 1000;

/** The indexes of the codes in each order. */
const orders = {
  CODE: sorterBy('code'),
  NAME: sorterBy('name'),
} satisfies Record<Exclude<GlCodeOrder, 'SERVICE'>, unknown>;

function sorterBy(field: keyof CodeTexts) {
  return (all: readonly CodeTexts[], turn: Turn): Promise<number[]> => {
    const texts = all.map((code) => code[field]?.trim().slice(0, MAX_COMPARED) || null);
    const compareAt = (a: number, b: number) => {
      const [left, right] = [texts[a] ?? null, texts[b] ?? null];
      if (left === null || right === null) return Number(left === null) - Number(right === null);
      return compare(left, right);
    };
    return sortInTurns(all.keys(), compareAt, turn);
  };
}
