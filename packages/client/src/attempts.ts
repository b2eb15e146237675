import {
  type Answer,
  codeOf,
  errorBody,
  hasField,
  lost,
  readAnswer,
  readRetryAfter,
} from './answer.ts';
import { wait, withDeadline } from './deadline.ts';
import { ageOf, type Intent, type Progress } from './intent.ts';
import { recall } from './known-intent.ts';
import {
  ATTEMPT_MS,
  type Caller,
  type GetToken,
  identify,
  type Refused,
  withToken,
} from './token.ts';

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
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** What sends a request. */
  readonly fetch?: typeof fetch | undefined;
};

/** Who may send a request, or why nobody may. */
export type Admission = Caller | Refused<'CANCELLED' | 'OFFLINE' | 'SIGN_IN_FAILED' | 'OTHER_USER'>;

export type Attempts = {
  readonly intent: Intent;
  readonly url: string | URL;
  /** The options of a request with this age. */
  readonly init: (ageMs?: number) => RequestInit;
  /** Who sends the first request, if it is known. The others are sent only for the same user. */
  readonly caller?: Caller;
  /** Whether an earlier request may have taken effect. */
  readonly isOpen: boolean;
  /** Whether it may be sent more than once. */
  readonly mayRepeat: boolean;
  /** Ends it with what is known so far. */
  readonly stop: AbortSignal | null | undefined;
};

export type Result = {
  readonly last: Answer;
  /** Whether a request may have taken effect of which `last` does not tell. */
  readonly isOpen: boolean;
  /** How long it might have been repeated still, in milliseconds. */
  readonly patienceMs: number;
};

export const DELAY_MS = 500;
export const DOUBLE_CLICK_MS = 500;

/** How long a copy of a request may be on its way, in milliseconds: later ones need their true age. */
const TRANSIT_MS = 30_000;

/** Waits until the device is online, and obtains a token of the user of an intent: `owner`, if it is not known otherwise. */
export async function admit(
  intent: Intent,
  request: RequestInit,
  options: LedgerFetchOptions,
  stop: AbortSignal | null | undefined,
  patience = startPatience(options),
  attempt = 0,
  owner?: string,
  rejected?: string,
): Promise<Admission> {
  const { sentAs } = recall(intent);
  if (isOffline()) {
    tell([options.onProgress], { intent: sentAs, attempt, state: 'offline' });
    await wait(patience(), stop, 'online');
  }
  const caller = isOffline()
    ? ({ refusal: 'OFFLINE', user: undefined } as const)
    : await identify(request, options, stop, rejected);
  if (stop?.aborted) return { refusal: 'CANCELLED' };
  const { user = owner ?? caller.user } = recall(intent);
  // For the gateway, the same key of another user is another write.
  return caller.refusal || caller.user === user ? caller : { refusal: 'OTHER_USER' };
}

/** Returns how many milliseconds are left to repeat a write, from the first call on. */
function startPatience({ patienceMs = 45_000 }: LedgerFetchOptions): () => number {
  let giveUpAt: number | undefined;
  return () => {
    giveUpAt ??= performance.now() + patienceMs;
    return giveUpAt - performance.now();
  };
}

/** Sends a request until its answer is final, or the patience ends. */
export async function attempt(
  { intent, url, init, caller, isOpen, mayRepeat, stop }: Attempts,
  options: LedgerFetchOptions,
): Promise<Result> {
  const { attemptMs = ATTEMPT_MS, delayMs = DELAY_MS, onProgress } = options;
  const patience = startPatience(options);
  let admission = caller ?? (await admit(intent, init(), options, stop, patience));
  const { user } = admission;
  const { startedAt = performance.now() } = recall(intent);
  let last = lost;
  let rejected: string | undefined;
  for (let count = 1; ; count += 1) {
    const { refusal, token } = admission;
    if (refusal === 'CANCELLED') break;
    // To obtain the token may have taken long, or the app sends it again.
    const isAged = isOpen || performance.now() - startedAt > TRANSIT_MS;
    const ageMs = ageOf(intent, attemptMs);
    if (!refusal) {
      last = await withDeadline(attemptMs, stop, async (end) => {
        const signed = { ...withToken(init(isAged ? ageMs : ageMs && 0), token), signal: end };
        const response = await (options.fetch ?? fetch)(url, signed);
        return readAnswer(response, await response.text());
      }).catch(() => lost);
    } else {
      // A token that was there may be there again.
      const mayPass = refusal === 'SIGN_IN_FAILED' && count > 1;
      last = { state: mayPass ? 'not-sent' : 'final', body: errorBody(refusal) };
    }
    // An error is about its own attempt alone: an earlier one may still be executed.
    isOpen = last.isOpen ?? isOpen;
    const code = codeOf(last.body);
    rejected = code === 'UNAUTHENTICATED' && rejected === undefined ? token : undefined;
    // A token is rejected before the body is read, so a large body may be sent again, too.
    if (rejected === undefined) {
      const waitMs = Math.max(backoffMs(count, delayMs), readRetryAfter(last.init?.headers));
      if (last.state === 'final' || !mayRepeat || stop?.aborted || waitMs > patience()) break;
      tell([onProgress], { intent, attempt: count, state: last.state, code });
      // A field that was sent is open again: a later answer may not have its outcome.
      isOpen ||= hasField(last.body);
      await wait(waitMs, stop);
    }
    admission = await admit(intent, init(), options, stop, patience, count, user, rejected);
  }
  return { last, isOpen, patienceMs: patience() };
}

/** Tells listeners. A fault of theirs may not end a write. */
export function tell<Event>(
  all: Iterable<((event: Event) => void) | undefined>,
  event: Event,
): void {
  for (const listener of all) {
    try {
      listener?.(event);
    } catch (error) {
      globalThis.reportError?.(error);
    }
  }
}

const isOffline = (): boolean => globalThis.navigator?.onLine === false;

/** With jitter, so that clients do not repeat at the same time. */
export function backoffMs(count: number, firstMs: number): number {
  return Math.min(10, 2 ** (count - 1)) * firstMs * (0.5 + Math.random() / 2);
}
