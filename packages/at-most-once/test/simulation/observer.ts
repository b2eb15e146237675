import type { Outcome } from './simulated-gateway.ts';

/** A sentence of docs/reference/idempotency-keys.md that is not true. */
export class Violation extends Error {}

type Field = {
  /** The requests with which the service executed it, by their ids. */
  executedBy: string[];
  /** A gateway has sent it to the service. */
  isSent: boolean;
  /** The only outcome, as a text. */
  outcome?: string;
  /** Somebody was told that it was not executed, and never will be. */
  isDenied: boolean;
  /** When somebody was told that it may have been executed. */
  orphanedAt?: number;
  /** When somebody was told that its key is settled. */
  closedAt?: number;
  /** Requests that were told that they did nothing. */
  failed: Set<string>;
};

/** A request as a gateway received it: each copy has an id of its own. */
export type Arrival = { id: string; receivedAt: number };

/** Compares what the gateways say about the fields of one key with what the service executed. */
export class Observer {
  readonly name: string;
  readonly #fields = new Map<string, Field>();
  /** A settlement has begun. */
  isSettling = false;
  /** A store was told that a claim of the key is orphaned. */
  isOrphaned = false;
  /** Nothing has happened but failures of the store, which lose no record. */
  isCalm = false;

  constructor(name: string, fields: readonly string[]) {
    this.name = name;
    for (const field of fields) {
      this.#fields.set(field, {
        executedBy: [],
        isSent: false,
        isDenied: false,
        failed: new Set(),
      });
    }
  }

  send(name: string): void {
    this.#field(name).isSent = true;
  }

  /** The service executes a field. */
  execute(name: string, { id, receivedAt }: Arrival): void {
    const field = this.#field(name);
    field.executedBy.push(id);
    if (field.executedBy.length > 1) this.#fail(name, 'was executed twice');
    if (field.isDenied) this.#fail(name, 'was executed, although "never" was said');
    if (field.failed.has(id)) this.#fail(name, 'was executed, although its request got an error');
    if (receivedAt > (field.orphanedAt ?? Infinity)) {
      this.#fail(name, 'was executed by a request that arrived after ORPHANED');
    }
    if (receivedAt > (field.closedAt ?? Infinity)) {
      this.#fail(name, 'was executed by a request that arrived after its key was settled');
    }
  }

  /** A gateway says that a request for a field did nothing, with the code of the error. */
  sayError(name: string, code: string, { id }: Arrival): void {
    const field = this.#field(name);
    field.failed.add(id);
    if (field.executedBy.includes(id)) this.#fail(name, `got ${code}, although it was executed`);
    if (code !== 'settled') return;
    this.#deny(name);
    if (!this.isSettling && !this.isOrphaned) {
      this.#fail(name, `got ${code}, although nobody has closed its key`);
    }
  }

  /** A gateway says what became of a field: a text that only this execution has, or that nobody knows. */
  sayOutcome(name: string, outcome: Outcome, now: number): void {
    const field = this.#field(name);
    const code = typeof outcome === 'string' ? undefined : outcome.code;
    if (code === 'IN_PROGRESS') return;
    if (code === 'ORPHANED') {
      field.orphanedAt ??= now;
      if (this.isCalm && !field.isSent) this.#fail(name, 'is ORPHANED, although it was never sent');
      return;
    }
    const text = typeof outcome === 'string' ? outcome : `${outcome.code} of ${outcome.requestId}`;
    field.outcome ??= text;
    if (field.outcome !== text) this.#fail(name, `was ${field.outcome} and then ${text}`);
    const isKnown = typeof outcome === 'string';
    if (isKnown && field.executedBy.length === 0)
      this.#fail(name, `is ${text}, but was not executed`);
  }

  /** A gateway says that it has closed the key for all but these fields, and maybe that nothing else was executed. */
  saySettled(names: readonly string[], isComplete: boolean, now: number): void {
    for (const [name, field] of this.#fields) {
      if (names.includes(name)) continue;
      field.closedAt ??= now;
      if (isComplete) this.#deny(name);
    }
  }

  #deny(name: string): void {
    const field = this.#field(name);
    field.isDenied = true;
    if (field.executedBy.length > 0) this.#fail(name, 'was executed, and then "never" was said');
  }

  #field(name: string): Field {
    const field = this.#fields.get(name);
    if (field === undefined) throw new Violation(`${name} is not a field of ${this.name}`);
    return field;
  }

  #fail(field: string, what: string): never {
    throw new Violation(`${field} of ${this.name} ${what}`);
  }
}
