import {
  type Answer,
  errorBody,
  type GraphqlBody,
  isObject,
  lost,
  readAnswer,
  toResponse,
} from './answer.ts';
import { sleep, throwIfAborted, withDeadline } from './deadline.ts';
import type { Intent } from './intent.ts';
import { type Caller, type GetToken, signInFailed, userOf, withToken } from './token.ts';

/** Why a request waits or is sent again, or that its intent is settled now. */
export type Progress = {
  readonly intent: Intent;
  /** The number of requests so far. */
  readonly attempt: number;
  readonly state: 'not-sent' | 'in-progress' | 'lost' | 'offline' | 'settling';
  /** The code of the error, if there is one. */
  readonly code?: string | undefined;
};

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

export const defaults = {
  patienceMs: 45_000,
  attemptMs: 20_000,
  delayMs: 500,
  doubleClickMs: 500,
};

/** Who else hears of the progress of an intent in this page. */
export const progressListeners = new Map<Intent, (progress: Progress) => void>();

export type Attempts = {
  readonly intent: Intent;
  readonly url: string | URL;
  /** The options of a request. `isAged`: an earlier one, or a copy of one, may have taken effect. */
  readonly init: (isAged: boolean) => RequestInit;
  /** Who sends the first request. The others are sent only for the same user. */
  readonly caller: Caller;
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

/** How long a copy of a request may be on its way, in milliseconds: later ones need their true age. */
const TRANSIT_MS = 30_000;

type TokenSource = () => string | undefined | Promise<string | undefined>;

/** Sends a request until its answer is final, or the patience ends. */
export async function attempt(attempts: Attempts, options: LedgerFetchOptions): Promise<Result> {
  const { intent, caller, mayRepeat, signal } = attempts;
  const { patienceMs = defaults.patienceMs, delayMs = defaults.delayMs, onProgress } = options;
  let isOpen = attempts.isRepeat;
  const startedAt = performance.now();
  let giveUpAt: number | undefined;
  let token: TokenSource = () => caller.token;
  let isRenewed = false;
  for (let count = 0; ; ) {
    if (isOffline()) {
      giveUpAt ??= performance.now() + patienceMs;
      onProgress?.({ intent, attempt: count, state: 'offline' });
      await sleep(giveUpAt - performance.now(), signal, 'online');
      if (isOffline()) return { last: offline(), isOpen, giveUpAt };
    }
    const isAged = isOpen || performance.now() - startedAt > TRANSIT_MS;
    const { answer: last, used } = await send(attempts, isOpen, isAged, token, options);
    count += 1;
    giveUpAt ??= performance.now() + patienceMs;
    // An error is about its own attempt alone: an earlier one may still be executed.
    if (last.isOutcome) isOpen = false;
    else if (!last.isRejection) isOpen = true;
    // A token is rejected before the body is read, so a large body may be sent again, too.
    const isRejected = last.code === 'UNAUTHENTICATED' && used !== undefined && !isRenewed;
    if (isRejected && (mayRepeat || !isOpen)) {
      isRenewed = true;
      token = () => nextToken(caller, options, used);
      continue;
    }
    const waitMs = Math.max(backoffMs(count, delayMs), last.retryAfterMs);
    const isTooLate = performance.now() + waitMs > giveUpAt;
    if (last.state === 'final' || !mayRepeat || isTooLate) return { last, isOpen, giveUpAt };
    onProgress?.({ intent, attempt: count, state: last.state, code: last.code });
    // A field that was sent is open again: a later answer may not have its outcome.
    isOpen ||= Object.values(last.body?.data ?? {}).some(isObject);
    await sleep(waitMs, signal);
    token = () => nextToken(caller, options);
  }
}

async function send(
  { url, init, attemptMs, signal }: Attempts,
  isRepeat: boolean,
  isAged: boolean,
  token: TokenSource,
  options: LedgerFetchOptions,
): Promise<{ answer: Answer; used?: string | undefined }> {
  let isSent = isRepeat;
  try {
    return await withDeadline(attemptMs, signal, async (end) => {
      const used = await token();
      const request = { ...withToken(init(isAged), used), signal: end };
      isSent = true;
      const response = await (options.fetch ?? fetch)(url, request);
      return { answer: readAnswer(response, await response.text()), used };
    });
  } catch {
    throwIfAborted(signal);
    return { answer: isSent ? lost : rejection(signInFailed()) };
  }
}

/** The token for a repeat. For the gateway, a repeat of another user is another write. */
async function nextToken(
  { user }: Caller,
  options: LedgerFetchOptions,
  rejected?: string,
): Promise<string | undefined> {
  const token = await options.token?.(rejected);
  if (token !== undefined && userOf(token) !== user) throw new Error('Another user has signed in.');
  return token;
}

/** An attempt that was not made, for this reason. */
export const rejection = (body: GraphqlBody): Answer => ({
  ...lost,
  state: 'final',
  isRejection: true,
  code: String(body.errors?.[0]?.extensions?.code),
  response: toResponse(body),
});

const offline = (): Answer =>
  rejection(errorBody('OFFLINE', 'The device has no connection. Nothing was sent.'));

const isOffline = (): boolean => globalThis.navigator?.onLine === false;

/** With jitter, so that clients do not repeat at the same time. */
export function backoffMs(count: number, firstMs: number): number {
  return Math.min(10, 2 ** (count - 1)) * firstMs * (0.5 + Math.random() / 2);
}
