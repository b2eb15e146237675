import { AtMostOnce, type WriteResult } from '../../src/at-most-once.ts';
import type { WriteState } from '../../src/claims.ts';
import type { Intent } from '../../src/intent.ts';
import { KeyRejected } from '../../src/key-rejected.ts';
import { StoreUnavailable } from '../../src/store.ts';
import type { Client, ModelStore } from './model-store.ts';
import { Violation } from './observer.ts';
import { time } from './virtual-time.ts';

/** A request with a key, of one or more fields. */
export type KeyedRequest = { id: string; key: string; ageMs: number; receivedAt: number };

/** A field of a request, which the service has to execute before its timeout. */
export type Call = KeyedRequest & { responseName: string; timeoutMs: number };

/** That nobody knows what became of a field, and which request has learned this. */
type Unknown = { code: string; requestId: string };

/** What became of a field: a text of the service, or that nobody knows it. */
export type Outcome = string | Unknown;

/** What a client learns of a field: its outcome, or the code of an error. */
export type Answer = { outcome: Outcome } | { error: string };

type Settled = { isComplete: boolean; outcomes: Map<string, Outcome> };

/** The service says that a call had no effect, or the call was not sent. */
export class WithoutEffect extends Error {}

/** A gateway, as a process that may end or stop for a while. */
export class SimulatedGateway implements Client {
  isAlive = true;
  /** Until then, it does nothing. */
  frozenUntil = 0;
  readonly #atMostOnce: AtMostOnce;
  readonly #serve: (client: Client, call: Call) => Promise<Outcome>;
  readonly #timeoutMs: number;

  /** @param serve the service, which gets each write that the gateway sends */
  constructor(
    store: ModelStore,
    serve: (client: Client, call: Call) => Promise<Outcome>,
    times: { timeoutMs: number; retentionMs: number },
  ) {
    this.#serve = serve;
    this.#timeoutMs = times.timeoutMs;
    this.#atMostOnce = new AtMostOnce(store.connect(this), {
      ...times,
      quarantineMs: 120_000,
      maxWritesPerKey: 3,
      closeMs: 1000,
      isWithoutEffect: (error) => error instanceof WithoutEffect,
    });
  }

  kill(): void {
    this.isAlive = false;
    void this.#atMostOnce.close();
  }

  whenAwake(run: () => void): void {
    if (!this.isAlive) return;
    if (this.frozenUntil <= time.now) run();
    else time.after(this.frozenUntil - time.now, () => this.whenAwake(run));
  }

  /** Executes one field of a request. */
  async write(request: KeyedRequest, responseName: string): Promise<Answer> {
    const end = performance.now() + this.#timeoutMs;
    const write = { ...intentOf(request), responseName, operation: 'act', fingerprint: 'act' };
    const execute = async () => {
      const timeoutMs = Math.max(0, end - performance.now());
      const outcome = await this.#serve(this, { ...request, responseName, timeoutMs });
      return { value: outcome, record: outcome };
    };
    try {
      return { outcome: outcomeOf(await this.#atMostOnce.run(write, execute), request) };
    } catch (error) {
      return { error: codeOf(error) };
    }
  }

  async settle(request: KeyedRequest): Promise<Settled | { error: string }> {
    try {
      const { writes, isComplete } = await this.#atMostOnce.settle(intentOf(request));
      const outcomes = writes.map(
        (write) => [write.responseName, outcomeOf(write, request)] as const,
      );
      return { isComplete, outcomes: new Map(outcomes) };
    } catch (error) {
      return { error: codeOf(error) };
    }
  }
}

function intentOf({ key, ageMs, receivedAt }: KeyedRequest): Intent {
  return { key, caller: 'ada', ageMs, receivedAt };
}

function outcomeOf(result: WriteResult<Outcome> | WriteState, { id }: KeyedRequest): Outcome {
  switch (result.state) {
    case 'executed':
      return result.value;
    case 'recorded':
      return result.outcome as Outcome; // What the service has returned.
    case 'in-flight':
      return { code: 'IN_PROGRESS', requestId: id };
    case 'orphaned':
      return { code: 'ORPHANED', requestId: id };
  }
}

function codeOf(error: unknown): string {
  if (error instanceof WithoutEffect) return 'WITHOUT_EFFECT';
  if (error instanceof StoreUnavailable) return 'UNAVAILABLE';
  if (error instanceof KeyRejected) return error.reason;
  throw new Violation(`an unexpected error: ${error}`);
}
