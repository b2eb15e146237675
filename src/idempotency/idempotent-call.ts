import type { Logger } from 'pino';
import { GatewayError } from '../errors/gateway-error.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Calls } from '../upstream/call.ts';
import type { Responses, WriteName, WriteRequest } from '../upstream/operations.ts';
import { OutcomeUnknown, UpstreamError } from '../upstream/upstream-error.ts';
import { claimId, fingerprintOf, missingKey, parseIdempotencyKey } from './idempotency-key.ts';
import { type InFlightWrite, InFlightWrites, pause, waitFor } from './in-flight-writes.ts';
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
  calls: Calls;
  store: IdempotencyStore;
  /** The timeout of a call, and of a repeat that waits for one. */
  timeoutMs: number;
  /** Whether a write without a key is rejected. */
  isKeyRequired: boolean;
  observer: IdempotencyObserver;
  log: Logger;
};

type Outcome<Name extends WriteName> = Responses[Name] | OutcomeUnknown;

/** A write with an idempotency key. */
type KeyedWrite<Name extends WriteName> = {
  request: WriteRequest<Name>;
  scope: RequestScope;
  claim: Claim;
  /** In the time of `performance.now()`. */
  deadline: number;
};

/**
 * Wraps writes with an `Idempotency-Key` in a claim, so that one intent of a caller is sent at most once
 * (docs/decisions/0012). The claim is stored before the request is sent, and the outcome after the
 * response. A repeat gets the recorded outcome. Reads and writes without a key pass through.
 */
export class IdempotentCalls implements Calls {
  readonly #options: Options;
  readonly #store: ObservedStore;
  readonly #inFlight = new InFlightWrites();

  constructor(options: Options) {
    this.#options = options;
    this.#store = new ObservedStore(options.store, options.observer, options.log);
  }

  readonly read: Calls['read'] = (request, scope) => this.#options.calls.read(request, scope);

  async write<Name extends WriteName>(
    request: WriteRequest<Name>,
    scope: RequestScope,
  ): Promise<Outcome<Name>> {
    const { calls, isKeyRequired, timeoutMs } = this.#options;
    const { idempotencyKey } = scope;
    if (idempotencyKey === undefined) {
      if (isKeyRequired) throw missingKey();
      return calls.write(request, scope);
    }
    const claim: Claim = {
      key: claimId(parseIdempotencyKey(idempotencyKey), scope, request.responseName),
      owner: crypto.randomUUID(),
      fingerprint: fingerprintOf(request),
      leaseMs: timeoutMs + RECORDING_MS,
    };
    return this.#settle({ request, scope, claim, deadline: performance.now() + timeoutMs });
  }

  /** Sends the write if its key is free, or else waits for the outcome of the request that holds the key. */
  async #settle<Name extends WriteName>(write: KeyedWrite<Name>): Promise<Outcome<Name>> {
    const { claim, scope, deadline } = write;
    let isRepeat = false;
    for (let delayMs = POLL_MS.first; ; delayMs = Math.min(delayMs * 2, POLL_MS.last)) {
      const first = this.#inFlight.find(claim.key);
      const outcome = first ? await this.#join(first, write) : await this.#claim(write, isRepeat);
      if (outcome !== null) return outcome;
      isRepeat = true;
      if (scope.signal.aborted || performance.now() + delayMs >= deadline) {
        this.#count('joined');
        return new OutcomeUnknown('IN_PROGRESS', scope.requestId);
      }
      // Another request of this instance may have freed the key, or claimed it at the same time.
      if (!first && !this.#inFlight.find(claim.key)) await pause(delayMs, scope.signal);
    }
  }

  /** Claims the key. Null if another request holds it. */
  async #claim<Name extends WriteName>(
    write: KeyedWrite<Name>,
    isRepeat: boolean,
  ): Promise<Outcome<Name> | null> {
    const { request, scope, claim } = write;
    const result = await this.#store.claim(claim).catch((error: unknown) => {
      // The request that held the key may have taken effect, so this is not an error.
      if (isRepeat && error instanceof GatewayError) return null;
      throw error;
    });
    if (result === null) return new OutcomeUnknown('IN_PROGRESS', scope.requestId);
    if (result.state === 'claimed') {
      this.#count('claimed');
      return this.#inFlight.track(claim, this.#send(write));
    }
    this.#checkFingerprint(write, result.fingerprint);
    if (result.state === 'in-flight') return null;
    const outcome =
      result.state === 'recorded' ? decodeOutcome(request.operation, result.outcome) : null;
    if (outcome === null) return this.#orphaned(claim, scope);
    this.#count(isRepeat ? 'joined' : 'replayed');
    scope.onReplay();
    return outcome;
  }

  #checkFingerprint({ claim, scope }: KeyedWrite<WriteName>, other: string): void {
    if (claim.fingerprint === other) return;
    this.#count('reused');
    const { requestId, caller } = scope;
    const line = { requestId, caller: caller.hash, claim: claim.key };
    this.#options.log.warn(line, 'idempotency key reused');
    throw new GatewayError(
      'IDEMPOTENCY_KEY_REUSED',
      'The idempotency key was used for another request. This request was not sent.',
    );
  }

  async #send<Name extends WriteName>({
    request,
    scope,
    claim,
    deadline,
  }: KeyedWrite<Name>): Promise<Outcome<Name>> {
    const timeoutMs = Math.max(0, deadline - performance.now());
    try {
      const sent = { ...request, claimId: claim.key, timeoutMs };
      const outcome = await this.#options.calls.write(sent, scope);
      await this.#store.record(claim, encodeOutcome(outcome), scope);
      return outcome;
    } catch (error) {
      // This error means that the write had no effect. After any other, the outcome is unknown.
      if (error instanceof UpstreamError) await this.#store.release(claim, scope);
      throw error;
    }
  }

  /** Waits for the outcome of the first request. Null if that request had no effect. */
  async #join<Name extends WriteName>(
    first: InFlightWrite,
    write: KeyedWrite<Name>,
  ): Promise<Outcome<Name> | null> {
    const { scope, deadline } = write;
    this.#checkFingerprint(write, first.fingerprint);
    this.#count('joined');
    const outcome = await waitFor(first, deadline, scope.signal);
    if (outcome === 'timeout') return new OutcomeUnknown('IN_PROGRESS', scope.requestId);
    if (outcome !== null) scope.onReplay();
    // The fingerprints are equal, so the outcome is of the same operation.
    return outcome as Outcome<Name> | null;
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
