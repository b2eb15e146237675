/** How many items are compared between two turns, in about a millisecond. */
const PART = 512;

/** Sorts items, and keeps the order of equal ones. Waits for `turn` before each part of the work. */
export async function sortInTurns<Item>(
  items: Iterable<Item>,
  compare: (a: Item, b: Item) => number,
  turn: () => Promise<void> | undefined,
): Promise<Item[]> {
  const all = [...items];
  let sorted: Item[][] = [];
  for (let start = 0; start < all.length; start += PART) {
    await turn();
    sorted.push(all.slice(start, start + PART).sort(compare));
  }
  while (sorted.length > 1) {
    const merged: Item[][] = [];
    for (let n = 0; n < sorted.length; n += 2) {
      merged.push(await merge(sorted[n] ?? [], sorted[n + 1] ?? [], compare, turn));
    }
    sorted = merged;
  }
  return sorted[0] ?? [];
}

async function merge<Item>(
  left: Item[],
  right: Item[],
  compare: (a: Item, b: Item) => number,
  turn: () => Promise<void> | undefined,
): Promise<Item[]> {
  const merged: Item[] = [];
  for (let [l, r] = [0, 0]; l < left.length || r < right.length; ) {
    if (merged.length % PART === 0) await turn();
    const [a, b] = [left[l] as Item, right[r] as Item]; // If an index is out of range, the other one is not.
    const isLeft = r === right.length || (l < left.length && compare(a, b) <= 0);
    merged.push(isLeft ? a : b);
    if (isLeft) l += 1;
    else r += 1;
  }
  return merged;
}
