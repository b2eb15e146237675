import { StoreUnavailable } from '../store.ts';
import type { Row, Table } from './local-store.ts';

/** Keeps rows in the memory of the process. Nothing of it fails, so nothing has to be undone. */
export class MemoryTable implements Table {
  readonly isContinued = false;
  fault: Table['fault'];
  onUndo = () => {};
  /** In the order of insertion. */
  readonly #rows = new Map<string, Row>();

  find(key: string): Row | undefined {
    return this.#rows.get(key);
  }

  put(key: string, row: Row): void {
    this.#rows.delete(key);
    this.#rows.set(key, row);
  }

  remove(key: string): void {
    this.#rows.delete(key);
  }

  sizes(): Iterable<Row> {
    return this.#rows.values();
  }

  sweep(count: number, until: number): Row[] {
    const oldest = [...this.#rows.entries().take(count)];
    const expired = oldest.filter(([, { changedAt }]) => changedAt <= until);
    for (const [key] of expired) this.#rows.delete(key);
    return expired.map(([, row]) => row);
  }

  run<Result>(work: () => Result): Result {
    if (this.fault) throw new StoreUnavailable(this.fault);
    return work();
  }

  close(): void {
    this.fault = 'closed';
    this.#rows.clear();
  }
}
