import { z } from 'zod';
import { inTransactions, StoreUnavailable } from '../store.ts';
import type { Row, Size, Table } from './local-store.ts';
import { SqliteFile, unavailable } from './sqlite-file.ts';

const sizeSchema = z.object({
  key: z.string(),
  caller: z.string(),
  bytes: z.number(),
  changedAt: z.number(),
});
const rowSchema = sizeSchema.extend({ version: z.string(), text: z.string() });

/**
 * Keeps rows in a SQLite database. The work of one iteration of the event loop, or of a busy millisecond, is one transaction,
 * which is on the disk before any of it is confirmed.
 */
export class SqliteTable extends SqliteFile implements Table {
  onUndo = () => {};
  readonly #batch = inTransactions(async (work: readonly (() => unknown)[]) => this.#commit(work));
  /** Whether the store's own entry may be in the log of the file, and not yet in the file itself. */
  #needsCheckpoint = false;

  get(key: string): Row | undefined {
    const row = this.statements.get.get(key);
    return row && rowSchema.parse(row);
  }

  put({ key, caller, version, bytes, changedAt, text }: Row): void {
    this.statements.put.run(key, caller, version, bytes, changedAt, text);
    this.#needsCheckpoint ||= caller === '';
  }

  delete(key: string): boolean {
    return this.statements.delete.run(key).changes > 0;
  }

  /** Reads one row at a time, because there may be millions. */
  *values(): Generator<Size> {
    for (const row of this.statements.values.iterate()) yield sizeSchema.parse(row);
  }

  oldest(count: number): Size[] {
    return z.array(sizeSchema).parse(this.statements.oldest.all(count));
  }

  run<Result>(work: () => Result): Promise<Result> {
    return this.#batch.load(work) as Promise<Result>;
  }

  #commit(work: readonly (() => unknown)[]): unknown[] {
    const { database, fault } = this;
    if (fault) throw new StoreUnavailable(fault);
    try {
      // The store's own entry must not be lost with the log. No claim is made before the file has it.
      if (this.#needsCheckpoint) database.exec('PRAGMA wal_checkpoint');
      this.#needsCheckpoint = false;
      database.exec('BEGIN IMMEDIATE');
      const results = work.map((one) => {
        try {
          return one();
        } catch (error) {
          if (!database.isTransaction) throw error;
          return unavailable(error);
        }
      });
      database.exec('COMMIT');
      return results;
    } catch (error) {
      this.#rollBack();
      throw unavailable(error);
    }
  }

  #rollBack(): void {
    const { database } = this;
    try {
      if (database.isTransaction) database.exec('ROLLBACK');
      this.onUndo();
    } catch {
      // The next use reports the same error.
    }
  }
}
