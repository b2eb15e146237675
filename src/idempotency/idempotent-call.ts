import {
  type Claim,
  type Claims,
  KeyRejected,
  ReplyLost,
  StoreUnavailable,
} from '@ledger-gateway/at-most-once';
import { countDown } from '../lib/count-down.ts';
import { poll } from '../lib/poll.ts';
import { remove } from '../lib/remove.ts';
import { shortForm } from '../lib/short-text.ts';
import type { RequestScope } from '../request-scope.ts';
import type { Calls } from '../upstream/call.ts';
import type { WriteRequest } from '../upstream/operations.ts';
import { OutcomeUnknown, UpstreamError } from '../upstream/upstream-error.ts';
import { fingerprintOf, intentOf } from './idempotency-key.ts';
import type { IdempotencyMetrics } from './idempotency-metrics.ts';
import type { OpenWrite, OpenWrites } from './open-writes.ts';
import { type Outcome, type ReadOutcome, toRecord } from './recorded-outcome.ts';

/** The parts that writes with a key and settling use. */
export type IdempotencyParts = {
  calls: Calls;
  claims: Claims;
  openWrites: OpenWrites;
  readOutcome: ReadOutcome;
  metrics: IdempotencyMetrics;
  /** Whether a write without a key is rejected. */
  isRequired: boolean;
  /** The timeout of a call, and of a repeat that waits for one. */
  timeoutMs: number;
};

/** A write with an idempotency key. */
type KeyedWrite = {
  request: WriteRequest;
  scope: RequestScope;
  claim: Claim;
  /** When the wait for an earlier request ends, in the time of `performance.now()`. */
  deadline: number;
  /** How many milliseconds are left for the write itself. */
  leftMs(): number;
};

/**
 * Wraps writes with an `Idempotency-Key` in a claim, so that one intent of a caller is sent at most once
 * (docs/decisions/0012). The claim is stored before the request is sent, and the outcome after the
 * response. A repeat gets the recorded outcome. Reads and writes without a key pass through.
 */
export class IdempotentCalls implements Calls {
  readonly #options: IdempotencyParts;

  constructor(options: IdempotencyParts) {
    this.#options = options;
  }

  readonly read: Calls['read'] = (request, scope) => this.#options.calls.read(request, scope);

  async write<Result>(
    request: WriteRequest<Result>,
    scope: RequestScope,
  ): Promise<Result | OutcomeUnknown> {
    const { isRequired, timeoutMs } = this.#options;
    const { givenKey } = scope;
    if (givenKey.keys.length === 0 && !isRequired) {
      this.#options.metrics.sentWithoutKey(scope);
      return this.#call(request, scope);
    }
    const claim: Claim = {
      ...intentOf(givenKey, scope),
      responseName: scope.idempotencyResponseName ?? request.responseName,
      operation: request.operation.name,
      owner: crypto.randomUUID(),
      fingerprint: fingerprintOf(request, scope.forwarded),
      leaseMs: timeoutMs + 5000, // After its timeout, the sender needs some time to record the outcome.
    };
    request.observer?.claimed(claim.key);
    const deadline = performance.now() + timeoutMs;
    const write = { request, scope, claim, deadline, leftMs: countDown(timeoutMs) };
    const outcome = await this.#resolve(write).catch((error: unknown) => {
      throw this.#options.metrics.rejected(error, scope, claim.key);
    });
    // The type is right: the fingerprint of the recorded write is the same, and so is its operation.
    return outcome instanceof OutcomeUnknown ? outcome : (outcome.response as Result);
  }

  /** Sends the write if its key is free, or else waits for the outcome of the request that holds the key. */
  async #resolve(write: KeyedWrite): Promise<Outcome> {
    const { scope, deadline } = write;
    let isRepeat = false;
    const attempt = async () => {
      const joined = this.#join(write, isRepeat);
      const outcome = joined === undefined ? await this.#claim(write, isRepeat) : joined;
      if (outcome === null && !isRepeat) this.#options.metrics.count('joined');
      isRepeat ||= outcome === null;
      return outcome;
    };
    const outcome = await poll(attempt, deadline, scope.signal).catch((error: unknown) => {
      // The request that holds the key may have taken effect, so the result must not be an error.
      if (isRepeat && error instanceof StoreUnavailable) return null;
      throw error;
    });
    return outcome ?? new OutcomeUnknown('IN_PROGRESS', scope.requestId);
  }

  /**
   * The outcome of the same write, if this process has sent it and the store may not have its outcome yet. Null while that
   * write is in flight. Undefined if there is no such write.
   */
  #join(write: KeyedWrite, isRepeat: boolean): Outcome | null | undefined {
    const { claim } = write;
    const first = this.#options.openWrites.writes.find(
      (open) => open.claim.key === claim.key && open.claim.responseName === claim.responseName,
    );
    if (!first) return undefined;
    if (first.claim.fingerprint !== claim.fingerprint) throw new KeyRejected('reused');
    return first.outcome ? this.#replay(first.outcome, write, isRepeat) : null;
  }

  /** Claims the key and sends the write, or returns the outcome of the request that holds it. Null while that is in flight. */
  async #claim(write: KeyedWrite, isRepeat: boolean): Promise<Outcome | null> {
    const { scope, claim } = write;
    const { claims, readOutcome, metrics } = this.#options;
    const claiming = metrics.timed('claim', claim.caller, claims.claim(claim));
    const result = await claiming.catch((error: unknown) => {
      if (error instanceof ReplyLost) void this.#release(claim);
      throw error;
    });
    if (result.state === 'claimed') {
      metrics.count('claimed');
      return this.#send(write);
    }
    if (result.state === 'in-flight') return null;
    const recorded = result.state === 'recorded' ? readOutcome(result.outcome, scope) : null;
    if (recorded) return this.#replay(recorded, write, isRepeat);
    metrics.count('orphaned');
    if (result.state === 'orphaned' && result.isNew) {
      metrics.unknownOutcome(result.operation, 'ORPHANED', scope, claim.key);
    }
    return new OutcomeUnknown('ORPHANED', scope.requestId);
  }

  #replay(known: Outcome, { request, scope }: KeyedWrite, isRepeat: boolean): Outcome {
    if (!isRepeat) this.#options.metrics.count('replayed');
    scope.state.isReplay = true;
    request.observer?.replayed();
    return known;
  }

  /** Sends a claimed write. Until the store has the outcome, repeats get it from `openWrites`. */
  async #send(write: KeyedWrite): Promise<Outcome> {
    const { request, scope, claim } = write;
    const { claims, metrics, openWrites } = this.#options;
    const { operation } = request;
    const timeoutMs = Math.max(0, write.leftMs());
    const open: OpenWrite = { claim };
    openWrites.writes.push(open);
    const sending = this.#call({ ...request, claimId: claim.key, timeoutMs }, scope);
    const response = await sending.catch(async (error: unknown) => {
      // This error means that the write had no effect. After any other error, the outcome is unknown.
      if (error instanceof UpstreamError) await this.#release(claim);
      remove(openWrites.writes, open);
      throw error;
    });
    const isUnknown = response instanceof OutcomeUnknown;
    // Only the first client gets long texts. Repeats get the short form, from `openWrites` and from the store.
    const kept = isUnknown ? response : { operation, response: shortForm(response) };
    open.outcome = kept;
    const record = () =>
      metrics.timed('record', claim.caller, claims.record(claim, toRecord(kept)));
    await openWrites.update(claim.caller, record, open);
    return isUnknown ? response : { operation, response };
  }

  async #release(claim: Claim): Promise<void> {
    const { claims, metrics, openWrites } = this.#options;
    const release = () => metrics.timed('release', claim.caller, claims.release(claim));
    await openWrites.update(claim.caller, release);
  }

  async #call<Result>(
    request: WriteRequest<Result>,
    scope: RequestScope,
  ): Promise<Result | OutcomeUnknown> {
    const outcome = await this.#options.calls.write(request, scope);
    if (outcome instanceof OutcomeUnknown) {
      const { name } = request.operation;
      this.#options.metrics.unknownOutcome(name, outcome.code, scope, request.claimId);
    }
    return outcome;
  }
}
