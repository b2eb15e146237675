/**
 * Why a key cannot be used for a write. `reused`: it was used for another one. `overused`: it has as many writes as it may have.
 * `settled`: it was settled, so this write was not executed with it, and never will be.
 */
export type KeyRejection = 'reused' | 'overused' | 'settled';

/** The key cannot be used for this write. Nothing was done. */
export class KeyRejected extends Error {
  override readonly name = 'KeyRejected';
  readonly reason: KeyRejection;

  constructor(reason: KeyRejection) {
    super(`The key cannot be used: ${reason}`);
    this.reason = reason;
  }
}
