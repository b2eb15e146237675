/** Removes an item from an array. Returns whether the array had it. */
export function remove<Item>(items: Item[], item: Item): boolean {
  const index = items.indexOf(item);
  if (index === 0)
    items.shift(); // `splice` would move all others: 2 µs for each request while 1,000 wait.
  else if (index > 0) items.splice(index, 1);
  return index >= 0;
}
