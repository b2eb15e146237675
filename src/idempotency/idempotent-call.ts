import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { GatewayError } from '../errors.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Call } from '../upstream/call.ts';
import type { Responses, WriteName, WriteRequest } from '../upstream/operations.ts';
import { OutcomeUnknown, UpstreamError } from '../upstream/upstream-error.ts';
import { claimId, fingerprintOf, missingKey, parseIdempotencyKey } from './idempotency-key.ts';
import {
  type IdempotencyObserver,
  type IdempotencyResult,
  ObservedStore,
} from './observed-store.ts';
import { decodeOutcome, encodeOutcome } from './recorded-outcome.ts';
import type { Claim, IdempotencyStore } from './store.ts';

/** Time for the sender of a write to record the outcome after its deadline, in milliseconds. */
const RECORDING_MS = 5000;
/** The delay between two polls for a claim of another instance, in milliseconds. It doubles from `first` to `last`. */
const POLL_MS = { first: 25, last: 500 };

type Options = {
  call: Call;
  store: IdempotencyStore;
  /** The timeout of a call, and of a repeat that waits for one. */
  timeoutMs: number;
  /** Whether a write without a key is rejected. */
  isKeyRequired: boolean;
  observer: IdempotencyObserver;
  log: Logger;
};

type Outcome<Name extends WriteName> = Responses[Name] | OutcomeUnknown;

/** A write that this instance is sending. */
type Sending = { key: string; fingerprint: string; outcome: Promise<unknown> };

/**
 * Wraps writes with an `Idempotency-Key` in a claim, so that one intent of a caller is sent at most once
 * (docs/decisions/0012). The claim is stored before the request is sent, and the outcome after the
 * response. A repeat gets the recorded outcome. Reads and writes without a key pass through.
 */
export class IdempotentCall implements Call {
  readonly #options: Options;
  readonly #store: ObservedStore;
  /** An array, since a Map would keep removed entries from being collected early (docs/decisions/0011). */
  readonly #sending: Sending[] = [];

  constructor(options: Options) {
    this.#options = options;
    this.#store = new ObservedStore(options.store, options.observer, options.log);
  }

  readonly read: Call['read'] = (request, scope) => this.#options.call.read(request, scope);

  async write<Name extends WriteName>(
    request: WriteRequest<Name>,
    scope: RequestScope,
  ): Promise<Outcome<Name>> {
    const { call, isKeyRequired, timeoutMs } = this.#options;
    const { idempotencyKey } = scope;
    if (idempotencyKey === undefined) {
      if (isKeyRequired) throw missingKey();
      return call.write(request, scope);
    }
    const claim: Claim = {
      key: claimId(parseIdempotencyKey(idempotencyKey), scope, request.responseName),
      owner: crypto.randomUUID(),
      fingerprint: fingerprintOf(request),
      leaseMs: timeoutMs + RECORDING_MS,
    };
    return this.#settle(claim, request, scope, performance.now() + timeoutMs);
  }

  /** Sends the request if the key is free, or else waits for the outcome of the request that holds it. */
  async #settle<Name extends WriteName>(
    claim: Claim,
    request: WriteRequest<Name>,
    scope: RequestScope,
    deadline: number,
  ): Promise<Outcome<Name>> {
    for (let delayMs = POLL_MS.first; ; delayMs = Math.min(delayMs * 2, POLL_MS.last)) {
      const sending = this.#find(claim);
      if (sending) return this.#join(sending, claim, scope, deadline);
      const result = await this.#store.claim(claim);
      if (result.state !== 'claimed') this.#checkFingerprint(claim, result.fingerprint);
      switch (result.state) {
        case 'claimed':
          this.#count('claimed');
          return this.#send(claim, request, scope);
        case 'recorded': {
          const outcome = decodeOutcome(request.operation, result.outcome);
          if (outcome === null) return this.#orphaned(claim, scope);
          this.#count(delayMs === POLL_MS.first ? 'replayed' : 'joined');
          scope.onReplay();
          return outcome;
        }
        case 'orphaned':
          return this.#orphaned(claim, scope);
        case 'in-flight':
          // Another request of this instance may have claimed the key at the same time.
          if (this.#find(claim)) continue;
      }
      if (performance.now() + delayMs >= deadline) {
        this.#count('joined');
        return new OutcomeUnknown('IN_PROGRESS', scope.requestId);
      }
      await sleep(delayMs, undefined, { signal: scope.signal }).catch(throwDisconnected);
    }
  }

  #checkFingerprint({ fingerprint }: Claim, other: string): void {
    if (other === fingerprint) return;
    this.#count('reused');
    throw new GatewayError(
      'IDEMPOTENCY_KEY_REUSED',
      'The idempotency key was used for another request. This request was not sent.',
    );
  }

  async #send<Name extends WriteName>(
    claim: Claim,
    request: WriteRequest<Name>,
    scope: RequestScope,
  ): Promise<Outcome<Name>> {
    const { key, fingerprint } = claim;
    const outcome = this.#sendAndRecord(claim, { ...request, claimId: key }, scope);
    const sending = { key, fingerprint, outcome };
    this.#sending.push(sending);
    try {
      return await outcome;
    } finally {
      this.#sending.splice(this.#sending.indexOf(sending), 1);
    }
  }

  async #sendAndRecord<Name extends WriteName>(
    claim: Claim,
    request: WriteRequest<Name>,
    scope: RequestScope,
  ): Promise<Outcome<Name>> {
    try {
      const outcome = await this.#options.call.write(request, scope);
      await this.#store.record(claim, encodeOutcome(outcome), scope);
      return outcome;
    } catch (error) {
      // This error means that the write had no effect. After any other, the outcome is unknown.
      if (error instanceof UpstreamError) await this.#store.release(claim, scope);
      throw error;
    }
  }

  /** Waits for a write that this instance is sending, until the deadline or until the client disconnects. */
  async #join<Name extends WriteName>(
    sending: Sending,
    claim: Claim,
    scope: RequestScope,
    deadline: number,
  ): Promise<Outcome<Name>> {
    this.#checkFingerprint(claim, sending.fingerprint);
    this.#count('joined');
    const timer = new AbortController();
    const signal = AbortSignal.any([timer.signal, scope.signal]);
    const timeout = sleep(Math.max(0, deadline - performance.now()), 'timeout', { signal });
    try {
      const outcome = await Promise.race([sending.outcome, timeout.catch(throwDisconnected)]);
      if (outcome === 'timeout') return new OutcomeUnknown('IN_PROGRESS', scope.requestId);
      scope.onReplay();
      // The fingerprints are equal, so the outcome is of the same operation.
      return outcome as Outcome<Name>;
    } finally {
      timer.abort();
    }
  }

  #find({ key }: Claim): Sending | undefined {
    return this.#sending.find((sending) => sending.key === key);
  }

  #count(result: IdempotencyResult): void {
    this.#options.observer.settled(result);
  }

  #orphaned({ key }: Claim, { requestId }: RequestScope): OutcomeUnknown {
    this.#count('orphaned');
    this.#options.log.warn({ requestId, claim: key }, 'orphaned write');
    return new OutcomeUnknown('ORPHANED', requestId);
  }
}

/** No client receives this error, and the request that holds the key continues. */
function throwDisconnected(): never {
  throw new UpstreamError('CLIENT_DISCONNECTED', { sent: 'no', fault: 'client disconnected' });
}
