/** Removes an item from an array. Returns whether the array had it. */
export function remove<Item>(items: Item[], item: Item): boolean {
  const index = items.indexOf(item);
  if (index >= 0) items.splice(index, 1);
  return index >= 0;
}
