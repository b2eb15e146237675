import { z } from 'zod';
import { inTransactions, StoreUnavailable } from '../store.ts';
import type { Row, Size, Table } from './local-store.ts';
import { openClaims, unavailable } from './sqlite-file.ts';

const sizeSchema = z.object({ caller: z.string(), bytes: z.number(), changedAt: z.number() });
const rowSchema = sizeSchema.extend({ version: z.string(), text: z.string() });

/**
 * Keeps rows in a SQLite database. The work of one iteration of the event loop, or of a busy millisecond, is one transaction,
 * which is on the disk before any of it is confirmed.
 */
export class SqliteTable implements Table {
  readonly isContinued: boolean;
  onUndo = () => {};
  readonly #file: ReturnType<typeof openClaims>;
  readonly #batch = inTransactions(async (work: readonly (() => unknown)[]) => this.#commit(work));
  /** Whether the store's own entry may be in the log of the file, and not yet in the file itself. */
  #needsCheckpoint = false;

  /**
   * @param maxBytes the size that the database may grow to
   * @throws StoreUnavailable with a message for the operator
   */
  constructor(path: string, maxBytes: number) {
    this.#file = openClaims(path, maxBytes);
    this.isContinued = this.#file.isContinued;
  }

  get fault() {
    if (!this.#file.database.isOpen) return 'closed';
    return this.#file.faultOfPath();
  }

  find(key: string): Row | undefined {
    const row = this.#file.statements.find.get(key);
    return row && rowSchema.parse(row);
  }

  put(key: string, { caller, version, bytes, changedAt, text }: Row): void {
    this.#file.statements.put.run(key, caller, version, bytes, changedAt, text);
    this.#needsCheckpoint ||= caller === '';
  }

  remove(key: string): void {
    this.#file.statements.remove.run(key);
  }

  /** Reads one row at a time, because there may be millions. */
  *sizes(): Iterable<Size> {
    for (const row of this.#file.statements.sizes.iterate()) yield sizeSchema.parse(row);
  }

  sweep(count: number, until: number): Size[] {
    return z.array(sizeSchema).parse(this.#file.statements.sweep.all(until, count));
  }

  run<Result>(work: () => Result): Promise<Result> {
    return this.#batch.load(work) as Promise<Result>;
  }

  close(): void {
    this.#file.close();
  }

  #commit(work: readonly (() => unknown)[]): unknown[] {
    const { fault } = this;
    if (fault) throw new StoreUnavailable(fault);
    const { database } = this.#file;
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
    const { database } = this.#file;
    try {
      if (database.isTransaction) database.exec('ROLLBACK');
      this.onUndo();
    } catch {
      // The next use reports the same error.
    }
  }
}
