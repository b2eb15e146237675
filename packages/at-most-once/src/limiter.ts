import type { CallerHash } from './intent.ts';

/** Limits how many changes of keys are in progress, so that those of one caller do not delay those of others. */
export type Limiter = {
  /**
   * Resolves when a change may begin. Undefined if it may begin at once. Urgent ones begin before others of their caller. Rejects
   * with `StoreUnavailable`.
   */
  enter(caller: CallerHash, isUrgent: boolean): Promise<void> | undefined;
  /** Ends a change that has begun. */
  leave(caller: CallerHash): void;
};

export const unlimited: Limiter = { enter() {}, leave() {} };
