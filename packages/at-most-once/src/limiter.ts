import type { CallerHash } from './intent.ts';

/** Limits how many changes of keys are in progress, so that those of one caller do not delay those of others. */
export type Limiter = {
  /** Whether a change may begin at once. If so, it has begun. */
  tryEnter(caller: CallerHash): boolean;
  /** Resolves when a change may begin. Urgent ones begin before others of their caller. Rejects with `StoreUnavailable`. */
  enter(caller: CallerHash, options: { isUrgent: boolean }): Promise<void>;
  /** Ends a change that has begun. */
  leave(caller: CallerHash): void;
};

export const unlimited: Limiter = { tryEnter: () => true, enter: async () => {}, leave() {} };
