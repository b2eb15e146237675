/** The texts of all items of a list in one string without letter case. Searching it takes a tenth of searching the items. */
export type SearchText = {
  readonly text: string;
  /** Where the texts of each item end. */
  readonly ends: Uint32Array;
};

/** A list, with its text for searches once one was made. */
export type Searchable<Item> = readonly Item[] & { searchText?: SearchText };

/** Ends each text. No text without letter case has this lower-case letter, so no search finds it. */
const SEPARATOR = 'a';

/** A text without letter case. `toUpperCase` alone would leave some upper-case letters different, such as K and the Kelvin sign. */
function fold(text: string): string {
  return text.toLowerCase().toUpperCase();
}

/** Prepares the texts of items for searches. */
export function prepareSearch<Item>(
  items: readonly Item[],
  textsOf: (item: Item) => (string | null)[],
): SearchText {
  const folded: string[] = [];
  const ends = new Uint32Array(items.length);
  let length = 0;
  for (const [index, item] of items.entries()) {
    for (const text of textsOf(item)) {
      const one = fold(text ?? '');
      folded.push(one);
      length += one.length + SEPARATOR.length;
    }
    ends[index] = length;
  }
  return { text: folded.join(SEPARATOR), ends };
}

/** The items with a text that contains `search`, which is not empty. */
export function searchItems<Item>(
  items: readonly Item[],
  { text, ends }: SearchText,
  search: string,
): Item[] {
  const wanted = fold(search);
  const found: Item[] = [];
  let index = 0; // Of the last item found.
  let at = text.indexOf(wanted);
  while (at >= 0) {
    while ((ends[index] ?? Infinity) <= at) index += 1;
    const item = items[index];
    if (item === undefined) break;
    found.push(item);
    at = text.indexOf(wanted, ends[index]); // From where the next item begins.
  }
  return found;
}
