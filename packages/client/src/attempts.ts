import { wait, withDeadline } from './deadline.ts';
import { ageOf, type Intent, now, type Progress } from './intent.ts';
import { PROBE, recall } from './known-intent.ts';
import {
  type AttemptResult,
  codeOf,
  errorBody,
  hasField,
  lost,
  readResponse,
  readRetryAfter,
  retryAfterMs,
} from './response.ts';
import { times } from './times.ts';
import { type Caller, type GetToken, identify, type Rejected, withToken } from './token.ts';

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
  /** Sends a request, also a question about a write, with the options of the write. The global `fetch` by default. */
  readonly fetch?: typeof fetch | undefined;
};

/** The options of requests to one address. */
export type SendOptions = LedgerFetchOptions & { readonly url: string | URL };

/** The user who sends a request, or why it must not be sent. */
export type Admission =
  | Caller
  | Rejected<'CANCELLED' | 'OFFLINE' | 'SIGN_IN_FAILED' | 'OTHER_USER'>;

/** How long a request may be on its way, in milliseconds. After this time, a request has to send the true age of its intent. */
const TRANSIT_MS = 30_000;

/** Obtains a token of the user of an intent. `owner` is that user if the page knows no other. */
export async function admit(
  intent: Intent,
  request: RequestInit,
  options: SendOptions,
  stop: AbortSignal | null | undefined,
  owner?: string,
  rejected?: string,
): Promise<Admission> {
  const caller: Admission = await identify(request, options, stop, rejected);
  if (stop?.aborted) return { rejection: 'CANCELLED' };
  const { user = owner ?? caller.user } = recall(intent);
  // For the gateway, the same key is another write if another user sends it.
  return caller.rejection || caller.user === user ? caller : { rejection: 'OTHER_USER' };
}

/** Returns a function that returns how many milliseconds are left to repeat a write. The time starts at its first call. */
export function startPatience({ patienceMs = times.patienceMs }: LedgerFetchOptions): () => number {
  let giveUpAt: number | undefined;
  return () => {
    giveUpAt ??= performance.now() + patienceMs;
    return giveUpAt - performance.now();
  };
}

/**
 * Sends a request until its response is final, or until no time is left to repeat it. The parameters are no object, because
 * the package exceeded its size limit with one.
 *
 * @param init returns the options of a request with this age of the intent
 * @param stop stops the attempts; the result is then what is known so far
 * @param isOpen whether an earlier request may have taken effect
 * @param mayRepeat whether the request may be sent again after this result; `state` is that of all attempts so far
 * @param caller the user of the first request, if already known; further requests are sent only for the same user
 * @param patience how many milliseconds are left to repeat the request
 * @param confirm is called directly before a repeat if an earlier request may have taken effect; returns whether to send it
 * @returns the last result, and whether a request may have taken effect whose outcome it does not contain
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: with more functions, the package exceeded its size limit.
export async function attempt(
  intent: Intent,
  init: (ageMs?: number) => RequestInit,
  stop: AbortSignal | null | undefined,
  options: SendOptions,
  isOpen = true,
  mayRepeat: (last: AttemptResult, state: Progress['state']) => boolean = () => true,
  caller?: Caller,
  patience = startPatience(options),
  confirm?: (caller: Caller) => Promise<boolean>,
): Promise<[last: AttemptResult, isOpen: boolean]> {
  const { attemptMs = times.attemptMs, delayMs = times.delayMs, onProgress } = options;
  const next = (owner?: string, rejected?: string) =>
    admit(intent, init(), options, stop, owner, rejected);
  let admission = caller ?? (await next());
  const { user } = admission;
  let last = lost;
  let state: Progress['state'] = isOpen ? 'lost' : 'not-sent';
  let isUnclear = false;
  let rejected: string | undefined;
  for (let count = 1; ; count += 1) {
    const { rejection, token } = admission;
    if (rejection === 'CANCELLED') break;
    // Obtaining the token may have taken long, the app sends an earlier intent again, or it was settled meanwhile.
    const { startedAt = now() } = recall(intent);
    const isAged = isOpen || now() - startedAt > TRANSIT_MS;
    const ageMs = ageOf(intent, attemptMs);
    if (!rejection) {
      last = await withDeadline(attemptMs, stop, async (end) => {
        const signed = { ...withToken(init(isAged ? ageMs : ageMs && 0), token), signal: end };
        const response = await (options.fetch ?? fetch)(options.url, signed);
        return readResponse(response, await response.text());
      }).catch(() => lost);
    } else {
      // If there was a token before, there may be one again.
      const mayPass = rejection !== 'OTHER_USER' && count > 1;
      last = { state: mayPass ? 'not-sent' : 'final', body: errorBody(rejection) };
    }
    // An error says only that this attempt did nothing. An earlier one may still be executed.
    isOpen = last.isOpen ?? isOpen;
    // With this code, the gateway could not look up the key. A copy that the browser has sent by itself may have been executed.
    isUnclear ||= JSON.stringify(last.body).includes('IDEMPOTENCY_UNAVAILABLE');
    const code = codeOf(last.body);
    rejected = code === 'UNAUTHENTICATED' && rejected === undefined ? token : undefined;
    // A field whose token is rejected did nothing. So even a large body is sent again, once.
    if (rejected === undefined) {
      const askedMs = Math.max(readRetryAfter(last.init?.headers), retryAfterMs(last.body));
      const waitMs = Math.max(backoffMs(count, delayMs), askedMs);
      const { state: result } = last;
      // An attempt that was not sent says nothing about an earlier one, which may have been executed.
      if (result === 'lost' || result === 'in-progress') state = result;
      if (intent === PROBE) state = last === lost ? 'offline' : 'not-sent';
      if (result === 'final' || !mayRepeat(last, state) || stop?.aborted || waitMs > patience()) {
        break;
      }
      tell([onProgress], { intent, attempt: count, state, code });
      await wait(waitMs, stop, 'online');
    }
    admission = await next(user, rejected);
    if (state === 'not-sent' && hasField(last.body)) state = 'lost';
    if (confirm && state !== 'not-sent' && !admission.rejection) {
      if (!(await confirm(admission))) break;
      // Meanwhile, another user may have signed in.
      admission = await next(user);
    }
    // A later response may not contain the outcome of a field that this response contains.
    isOpen ||= hasField(last.body);
  }
  return [last, last.isOpen ?? (isOpen || isUnclear)];
}

/** Calls listeners. An error that a listener throws is reported, and does not end the write. */
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

/** With jitter, so that clients do not repeat at the same time. */
export function backoffMs(count: number, firstMs: number): number {
  return (Math.min(20, 2 ** count) * firstMs * (1 + Math.random())) / 4;
}
