import { GatewayError } from '../../../../src/errors/gateway-error.ts';
import { keyRejected, storeUnavailable } from '../../../../src/idempotency/idempotency-error.ts';
import {
  type IdempotencyParts,
  IdempotentCalls,
} from '../../../../src/idempotency/idempotent-call.ts';
import { OpenWrites } from '../../../../src/idempotency/open-writes.ts';
import { createOutcomeReader } from '../../../../src/idempotency/recorded-outcome.ts';
import { createSettle } from '../../../../src/idempotency/settle.ts';
import { wallOffsetNow } from '../../../../src/lib/count-down.ts';
import type { RequestScope } from '../../../../src/request-scope.ts';
import type { Calls } from '../../../../src/upstream/call.ts';
import { operations } from '../../../../src/upstream/declarations.ts';
import { OutcomeUnknown, UpstreamError } from '../../../../src/upstream/upstream-error.ts';
import { createReservation } from '../../../../test/support/admission.ts';
import { Claims } from '../../src/claims.ts';
import { Completeness } from '../../src/completeness.ts';
import { KeyRejected } from '../../src/key-rejected.ts';
import { unlimited } from '../../src/limiter.ts';
import { StoreUnavailable } from '../../src/store.ts';
import { createStoreWatch } from '../../src/store-watch.ts';
import type { Client, ModelStore } from './model-store.ts';
import { Violation } from './observer.ts';
import { time } from './virtual-time.ts';

const QUARANTINE_MS = 120_000;
const MAX_WRITES_PER_KEY = 3;

const log = { info() {}, warn() {}, error() {} };
const signal = new AbortController().signal;
const caller = { issuer: 'issuer', subject: 'ada', hash: 'ada', admissionKey: 'ada' };
const { upgradeToHQ } = operations;
const reservation = createReservation();

/** A request with a key, of one or more fields. */
export type KeyedRequest = { id: string; key: string; ageMs: number; receivedAt: number };

/** What a client learns of a field: the text of its outcome, that it is unknown, or the code of an error. */
export type Answer = { outcome: string | OutcomeUnknown } | { error: string };

type Settled = { isComplete: boolean; outcomes: Map<string, string | OutcomeUnknown> };

/** A gateway from the claim to the store, as a process that may end or stop for a while. */
export class SimulatedGateway implements Client {
  isAlive = true;
  /** Until then, it does nothing. */
  frozenUntil = 0;
  readonly #completeness: Completeness;
  readonly #calls: IdempotentCalls;
  readonly #settle: ReturnType<typeof createSettle>;

  /** @param write the service, which gets each write that the gateway sends */
  constructor(
    store: ModelStore,
    write: (client: Client, ...call: Parameters<Calls['write']>) => Promise<unknown>,
    { timeoutMs, retentionMs }: { timeoutMs: number; retentionMs: number },
  ) {
    const connection = store.connect(this);
    const { watch, isFailing } = createStoreWatch(log);
    const completeness = { retentionMs, quarantineMs: QUARANTINE_MS, log, watch };
    this.#completeness = new Completeness({ store: connection, ...completeness });
    const claims = new Claims(
      connection,
      this.#completeness,
      MAX_WRITES_PER_KEY,
      isFailing,
      unlimited,
    );
    const metrics: IdempotencyParts['metrics'] = {
      count() {},
      sentWithoutKey() {},
      unknownOutcome() {},
      rejected(error) {
        if (error instanceof KeyRejected) return keyRejected(error.reason);
        return error instanceof StoreUnavailable ? storeUnavailable(error.reason) : error;
      },
      timed: (_, caller, use) => watch(use, caller),
    };
    const send = (...call: Parameters<Calls['write']>) => write(this, ...call);
    const parts: IdempotencyParts = {
      // The model of the service returns what it responds to each operation.
      calls: { write: send, read: () => Promise.reject(new Error('not a write')) } as Calls,
      claims,
      openWrites: new OpenWrites(log, 1000),
      readOutcome: createOutcomeReader([upgradeToHQ]),
      metrics,
      isRequired: true,
      timeoutMs,
    };
    this.#calls = new IdempotentCalls(parts);
    this.#settle = createSettle(parts);
  }

  kill(): void {
    this.isAlive = false;
    this.#completeness.close();
  }

  whenAwake(run: () => void): void {
    if (!this.isAlive) return;
    if (this.frozenUntil <= time.now) run();
    else time.after(this.frozenUntil - time.now, () => this.whenAwake(run));
  }

  /** Executes one field of a request. */
  async write(request: KeyedRequest, responseName: string): Promise<Answer> {
    const write = { ...upgradeToHQ.encode(), responseName };
    try {
      const response = await this.#calls.write(write, scopeOf(request));
      return { outcome: response instanceof OutcomeUnknown ? response : String(response.message) };
    } catch (error) {
      return { error: codeOf(error) };
    }
  }

  async settle(request: KeyedRequest): Promise<Settled | { error: string }> {
    const { key, ageMs } = request;
    try {
      const { writes, isComplete } = await this.#settle(key, ageMs, scopeOf(request));
      const outcomes: Settled['outcomes'] = new Map();
      for (const { responseName, outcome } of writes) {
        if (outcome instanceof OutcomeUnknown) outcomes.set(responseName, outcome);
        else outcomes.set(responseName, String(Object(outcome.response).message));
      }
      return { isComplete, outcomes };
    } catch (error) {
      return { error: codeOf(error) };
    }
  }
}

function codeOf(error: unknown): string {
  if (error instanceof GatewayError || error instanceof UpstreamError) return error.code;
  throw new Violation(`an unexpected error: ${error}`);
}

function scopeOf({ id, key, ageMs, receivedAt }: KeyedRequest): RequestScope {
  return {
    token: 'token',
    caller,
    identity: 'identity',
    requestId: id,
    reservation,
    turn: () => undefined,
    trace: undefined,
    forwarded: undefined,
    signal,
    isClosed: () => false,
    givenKey: { keys: [key], ages: [ageMs] },
    idempotencyResponseName: undefined,
    receivedAt,
    wallOffset: wallOffsetNow(),
    state: {},
  };
}
