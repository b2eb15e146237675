import { type Answer, lost, readAnswer } from './answer.ts';
import type { Intent } from './intent.ts';
import { type GetToken, signInFailed, withToken } from './token.ts';

/** Why a request is sent again, or that its intent is settled now. */
export type Progress = {
  readonly intent: Intent;
  /** The number of requests so far. */
  readonly attempt: number;
  readonly state: 'not-sent' | 'in-progress' | 'lost' | 'settling';
  /** The code of the error, if there is one. */
  readonly code?: string | undefined;
};

export type LedgerFetchOptions = {
  readonly token?: GetToken;
  /** How long to repeat a write after its first failure, in milliseconds. */
  readonly patienceMs?: number | undefined;
  /** How long one request may take, in milliseconds. A large body gets more. */
  readonly attemptMs?: number | undefined;
  /** The delay before the first repeat, in milliseconds. It doubles up to ten times this value. */
  readonly delayMs?: number | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** What sends a request. */
  readonly fetch?: typeof fetch | undefined;
};

export const defaults = { patienceMs: 45_000, attemptMs: 20_000, delayMs: 500 };

export type Attempts = {
  readonly intent: Intent;
  readonly url: string | URL;
  /** The options of a request. `isRepeat`: an earlier one may have taken effect. */
  readonly init: (isRepeat: boolean) => RequestInit;
  /** Whether an earlier request may have taken effect. */
  readonly isRepeat: boolean;
  /** Whether it may be sent more than once. */
  readonly mayRepeat: boolean;
  readonly attemptMs: number;
  readonly signal: AbortSignal | null | undefined;
};

export type Result = {
  readonly last: Answer;
  /** Whether a request may have taken effect of which `last` does not tell. */
  readonly isOpen: boolean;
  /** When the patience ends, in the time of `performance.now()`. */
  readonly giveUpAt: number;
};

/** Sends a request until its answer is final, or the patience ends. */
export async function attempt(attempts: Attempts, options: LedgerFetchOptions): Promise<Result> {
  const { intent, mayRepeat, signal } = attempts;
  const { patienceMs = defaults.patienceMs, delayMs = defaults.delayMs, onProgress } = options;
  let isOpen = attempts.isRepeat;
  let giveUpAt: number | undefined;
  let rejected: string | undefined;
  for (let count = 1; ; count += 1) {
    const { answer: last, token } = await send(attempts, isOpen, rejected, options);
    giveUpAt ??= performance.now() + patienceMs;
    // A browser repeats requests by itself, so an error that may pass need not be that of the first one.
    if (last.isProof) isOpen = false;
    else if (last.state !== 'final' || last.isOfProxy) isOpen = true;
    const isRejected =
      last.code === 'UNAUTHENTICATED' && token !== undefined && rejected === undefined;
    // A token is rejected before the body is read, so this is true of a large body, too.
    if (isRejected && (mayRepeat || !isOpen)) {
      rejected = token;
      continue;
    }
    const waitMs = Math.max(backoffMs(count, delayMs), last.retryAfterMs);
    const isTooLate = performance.now() + waitMs > giveUpAt;
    if (last.state === 'final' || !mayRepeat || isTooLate) return { last, isOpen, giveUpAt };
    onProgress?.({ intent, attempt: count, state: last.state, code: last.code });
    await sleep(waitMs, signal);
  }
}

async function send(
  { url, init, attemptMs, signal }: Attempts,
  isRepeat: boolean,
  rejected: string | undefined,
  options: LedgerFetchOptions,
): Promise<{ answer: Answer; token?: string }> {
  const timeout = new AbortController();
  const timer = setTimeout(() => timeout.abort(), attemptMs);
  const end = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal;
  let isSent = isRepeat;
  try {
    const token = options.token && (await unlessAborted(options.token(rejected), end));
    const request = { ...withToken(init(isRepeat), token), signal: end };
    isSent = true;
    const response = await (options.fetch ?? fetch)(url, request);
    const answer = readAnswer(response, await response.text());
    return token === undefined ? { answer } : { answer, token };
  } catch {
    signal?.throwIfAborted();
    return { answer: isSent ? lost : notSignedIn() };
  } finally {
    clearTimeout(timer);
  }
}

/** Waits for what cannot be cancelled. */
function unlessAborted<Value>(value: Value | Promise<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    Promise.resolve(value).then(resolve, reject);
  });
}

const notSignedIn = (): Answer => ({
  ...lost,
  state: 'final',
  code: 'SIGN_IN_FAILED',
  response: signInFailed(),
});

/** With jitter, so that clients do not repeat at the same time. */
function backoffMs(count: number, firstMs: number): number {
  return Math.min(10, 2 ** (count - 1)) * firstMs * (0.5 + Math.random() / 2);
}

async function sleep(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const elapsed = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  await (signal ? unlessAborted(elapsed, signal) : elapsed).finally(() => clearTimeout(timer));
}
