/** A claim on an idempotency key. */
export type Claim = {
  /** The hashed key. */
  key: string;
  /** A random token that identifies this claim. */
  owner: string;
  /** A hash of the upstream request, to recognize a key that is reused for another one. */
  fingerprint: string;
  /** Milliseconds after which an unfinished claim has expired. Shorter than the retention. */
  leaseMs: number;
};

/** The state of a key after a claim, with the fingerprint of the claim that holds it. */
export type ClaimResult =
  /** The key was free, or this owner holds it already: the caller may send. */
  | { state: 'claimed' }
  /** Another owner holds the key, and its lease has not ended. */
  | { state: 'in-flight'; fingerprint: string }
  /** The owner's lease ended or its process stopped, without a recorded outcome. No claim succeeds before the retention ends. */
  | { state: 'orphaned'; fingerprint: string }
  /** Final. */
  | { state: 'recorded'; fingerprint: string; outcome: string };

/**
 * Keeps the claims of idempotency keys and the outcomes of their writes for the retention, which counts from
 * the claim. Every method throws `StoreUnavailable` when the store cannot be used.
 */
export type IdempotencyStore = {
  /**
   * Claims a key, atomically and durably. Repeating a claim with the same owner is safe. If
   * `claim` throws, use a new owner: the store frees what the failed claim may have taken.
   */
  claim(claim: Claim): Promise<ClaimResult>;
  /** Stores the outcome if `owner` holds the key, also after its lease; otherwise does nothing. */
  record(key: string, owner: string, outcome: string): Promise<void>;
  /** Frees the key if `owner` holds it without an outcome; otherwise does nothing. Only for a request that was not sent. */
  release(key: string, owner: string): Promise<void>;
  close(): Promise<void>;
};

/** Why a store cannot be used: a short list, usable as a metric label. */
export type UnavailableReason =
  | 'closed'
  | 'corrupt'
  | 'data_lost'
  | 'evicting'
  | 'failed'
  | 'full'
  | 'loading'
  | 'locked'
  | 'not_writable'
  | 'out_of_memory'
  | 'read_only'
  | 'timeout'
  | 'unauthorized'
  | 'unreachable';

/** The store cannot be used. Neither the message nor a property holds the store's URL or its credentials. */
export class StoreUnavailable extends Error {
  override readonly name: string = 'StoreUnavailable';
  readonly reason: UnavailableReason;

  constructor(
    reason: UnavailableReason,
    message = `The idempotency store is unavailable: ${reason}`,
  ) {
    super(message);
    this.reason = reason;
  }
}

/** The part of a pino logger that a store uses. */
export type StoreLog = {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
};
