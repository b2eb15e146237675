import { type Link, LinkedList } from './linked-list.ts';

type Turn<Item> = { key: string; items: LinkedList<Item> };

/** A queue that takes its items from one key after another, and those of one key in their order. */
export class RoundRobin<Item> {
  /** The keys that have items. The first one is next. */
  readonly #turns = new LinkedList<Turn<Item>>();
  readonly #turnOf = new Map<string, Link<Turn<Item>>>();

  /** The number of items of a key. */
  countOf(key: string): number {
    return this.#turnOf.get(key)?.value.items.size ?? 0;
  }

  /** Adds an item. The result removes it again, unless it was taken. Constant time. */
  add(key: string, item: Item): () => void {
    const turn = this.#turnOf.get(key) ?? this.#turns.push({ key, items: new LinkedList() });
    this.#turnOf.set(key, turn);
    const link = turn.value.items.push(item);
    return () => this.#remove(turn, link);
  }

  /** Takes an item of the next eligible key. Linear only in the number of keys that are not eligible. */
  take(isEligible: (key: string) => boolean): Item | undefined {
    let turn = this.#turns.first;
    while (turn && !isEligible(turn.value.key)) turn = turn.next;
    const link = turn?.value.items.first;
    if (!turn || !link) return undefined;
    this.#turns.moveToEnd(turn);
    this.#remove(turn, link);
    return link.value;
  }

  #remove(turn: Link<Turn<Item>>, link: Link<Item>): void {
    const { key, items } = turn.value;
    items.remove(link);
    if (items.size > 0) return;
    this.#turns.remove(turn);
    this.#turnOf.delete(key);
  }
}
