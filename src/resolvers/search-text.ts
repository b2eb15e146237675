/** The texts of all items of a list in one string without letter case. Searching it takes a tenth of searching the items. */
export type SearchText = {
  readonly text: string;
  /** Where the texts of each item end. */
  readonly ends: Uint32Array;
};

/** A list, with its text for searches once one was made. */
export type Searchable<Item> = readonly Item[] & { searchText?: SearchText };

/** Visits items, and waits for CPU time in between as often as necessary. */
type Visitor = {
  visit<Item>(items: Iterable<Item>, visit: (item: Item) => void): Promise<void>;
};

/** Ends each text. No text without letter case has this lower-case letter, so no search finds it. */
const SEPARATOR = 'a';

/** How many characters are searched at once. 8 million that nearly match may take a tenth of a second. */
const PART_LENGTH = 65_536;
/** How many items are prepared at once. To ask for CPU time for each item would take longer than the work. */
const PREPARED_ITEMS = 256;

/** A text without letter case. `toUpperCase` alone would leave some upper-case letters different, such as K and the Kelvin sign. */
function fold(text: string): string {
  return text.toLowerCase().toUpperCase();
}

/** Prepares the texts of items for searches, and waits for CPU time meanwhile. */
export async function prepareSearch<Item>(
  items: readonly Item[],
  textsOf: (item: Item) => (string | null)[],
  limits: Visitor,
): Promise<SearchText> {
  const folded: string[] = [];
  const ends = new Uint32Array(items.length);
  let length = 0;
  await limits.visit(startsOf(items.length, PREPARED_ITEMS), (start) => {
    for (const [index, item] of items.slice(start, start + PREPARED_ITEMS).entries()) {
      for (const text of textsOf(item)) {
        const one = fold(text ?? '');
        folded.push(one);
        length += one.length + SEPARATOR.length;
      }
      ends[start + index] = length;
    }
  });
  return { text: folded.join(SEPARATOR), ends };
}

/** The items with a text that contains `search`, which is not empty. Waits for CPU time meanwhile. */
export async function searchItems<Item>(
  items: readonly Item[],
  { text, ends }: SearchText,
  search: string,
  limits: Visitor,
): Promise<Item[]> {
  const wanted = fold(search);
  const found: Item[] = [];
  let index = 0; // Of the last item found.
  let from = 0; // Where the next item begins.
  await limits.visit(startsOf(text.length, PART_LENGTH), (start) => {
    const part = text.slice(start, start + PART_LENGTH + wanted.length - 1);
    for (;;) {
      const at = part.indexOf(wanted, Math.max(0, from - start));
      if (at < 0) return;
      while ((ends[index] ?? Infinity) <= start + at) index += 1;
      const item = items[index];
      if (item === undefined) return;
      found.push(item);
      from = ends[index] ?? Infinity;
    }
  });
  return found;
}

/** Where each part of this size begins. */
function* startsOf(length: number, size: number): Generator<number> {
  for (let start = 0; start < length; start += size) yield start;
}
