import {
  type Answer,
  codeOf,
  hasField,
  lost,
  notMade,
  readAnswer,
  readRetryAfter,
} from './answer.ts';
import { throwIfAborted, wait, withDeadline } from './deadline.ts';
import type { Intent, Progress } from './intent.ts';
import { ATTEMPT_MS, type Caller, type GetToken, identify, withToken } from './token.ts';

/** What to do if a query fails. Without it, a query is sent once. */
export type QueryOptions = {
  /** How long one attempt may take, in milliseconds. It then fails with a `TimeoutError`. */
  readonly timeoutMs?: number | undefined;
  /** How often it is sent again after a connection fault, a timeout, or a 502, 503 or 504. */
  readonly retries?: number | undefined;
};

export type LedgerFetchOptions = {
  readonly token?: GetToken;
  /** How long to repeat a write after its first failure, in milliseconds. */
  readonly patienceMs?: number | undefined;
  /** How long one request may take, in milliseconds. A large body gets more. */
  readonly attemptMs?: number | undefined;
  /** The delay before the first repeat, in milliseconds. It doubles up to ten times this value. */
  readonly delayMs?: number | undefined;
  /** How long after a write the same write is a double click, in milliseconds. 0 turns this off. */
  readonly doubleClickMs?: number | undefined;
  readonly queries?: QueryOptions | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** What sends a request. */
  readonly fetch?: typeof fetch | undefined;
};

export type Attempts = {
  readonly intent: Intent;
  readonly url: string | URL;
  /** The options of a request. `isAged`: an earlier one, or a copy of one, may have taken effect. */
  readonly init: (isAged: boolean) => RequestInit;
  /** Who sends the first request. The others are sent only for the same user. */
  readonly caller: Caller;
  /** Whether an earlier request may have taken effect. */
  readonly isOpen: boolean;
  /** Whether it may be sent more than once. */
  readonly mayRepeat: boolean;
  /** Ends it without a result. */
  readonly signal: AbortSignal | null | undefined;
  /** Ends it with what is known so far. It aborts with `signal`. */
  readonly stop: AbortSignal | null | undefined;
};

export type Result = {
  readonly last: Answer;
  /** Whether a request may have taken effect of which `last` does not tell. */
  readonly isOpen: boolean;
  /** When the patience ends, in the time of `performance.now()`. */
  readonly giveUpAt: number;
};

export const DELAY_MS = 500;
export const PATIENCE_MS = 45_000;

/** How long a copy of a request may be on its way, in milliseconds: later ones need their true age. */
const TRANSIT_MS = 30_000;

/** Sends a request until its answer is final, or the patience ends. */
export async function attempt(
  { intent, url, init, caller, isOpen, mayRepeat, signal, stop }: Attempts,
  options: LedgerFetchOptions,
): Promise<Result> {
  const {
    patienceMs = PATIENCE_MS,
    attemptMs = ATTEMPT_MS,
    delayMs = DELAY_MS,
    onProgress,
  } = options;
  const startedAt = performance.now();
  let giveUpAt = Number.POSITIVE_INFINITY;
  const startPatience = () => {
    giveUpAt = Math.min(giveUpAt, performance.now() + patienceMs);
  };
  let last = notMade('CANCELLED');
  let rejected: string | undefined;
  for (let count = 0; ; ) {
    if (isOffline()) startPatience();
    const offline: Progress = { intent, attempt: count, state: 'offline' };
    const isOnline = await untilOnline(offline, giveUpAt - performance.now(), stop, onProgress);
    throwIfAborted(signal);
    if (!isOnline && !stop?.aborted) last = notMade('OFFLINE');
    if (!isOnline || stop?.aborted) break;
    let isSent = isOpen;
    let used: string | undefined;
    try {
      last = await withDeadline(attemptMs, stop, async (end) => {
        const current = count > 0 ? await identify(init(true), options, end, rejected) : caller;
        throwIfAborted(end);
        if (!current) throw new Error();
        // For the gateway, a repeat of another user is another write.
        if (current.user !== caller.user) return notMade('SIGN_IN_FAILED');
        used = current.token;
        // To obtain the token may have taken long.
        const isAged = isOpen || performance.now() - startedAt > TRANSIT_MS;
        const signed = { ...withToken(init(isAged), used), signal: end };
        isSent = true;
        const response = await (options.fetch ?? fetch)(url, signed);
        return readAnswer(response, await response.text());
      });
    } catch {
      throwIfAborted(signal);
      if (isSent) last = lost;
      else if (!stop?.aborted) last = notMade('SIGN_IN_FAILED');
    }
    count += 1;
    startPatience();
    // An error is about its own attempt alone: an earlier one may still be executed.
    isOpen = last.isOpen ?? isOpen;
    const isRejected = codeOf(last.body) === 'UNAUTHENTICATED' && rejected === undefined;
    rejected = isRejected ? used : undefined;
    // A token is rejected before the body is read, so a large body may be sent again, too.
    if (rejected !== undefined) continue;
    const waitMs = Math.max(backoffMs(count, delayMs), readRetryAfter(last.init?.headers));
    const isTooLate = performance.now() + waitMs > giveUpAt;
    if (last.state === 'final' || !mayRepeat || isTooLate) break;
    tell(onProgress, { intent, attempt: count, state: last.state, code: codeOf(last.body) });
    // A field that was sent is open again: a later answer may not have its outcome.
    isOpen ||= hasField(last.body);
    await wait(waitMs, stop);
  }
  return { last, isOpen, giveUpAt };
}

/** Waits until the device is online, but not longer than `ms` milliseconds. Returns whether it is. */
export async function untilOnline(
  offline: Progress,
  ms: number,
  stop: AbortSignal | null | undefined,
  onProgress: LedgerFetchOptions['onProgress'],
): Promise<boolean> {
  if (isOffline()) {
    tell(onProgress, offline);
    await wait(ms, stop, 'online');
  }
  return !isOffline();
}

/** A fault of a listener must not end a write. The page reports it like any other. */
export function tell(listener: LedgerFetchOptions['onProgress'], progress: Progress): void {
  try {
    listener?.(progress);
  } catch (error) {
    globalThis.reportError?.(error);
  }
}

const isOffline = (): boolean => globalThis.navigator?.onLine === false;

/** With jitter, so that clients do not repeat at the same time. */
export function backoffMs(count: number, firstMs: number): number {
  return Math.min(10, 2 ** (count - 1)) * firstMs * (0.5 + Math.random() / 2);
}
