import {
  admit,
  attempt,
  type LedgerFetchOptions,
  type SendOptions,
  startPatience,
  tell,
} from './attempts.ts';
import { isOffline, throwIfAborted, withDeadline } from './deadline.ts';
import { type Intent, isIntent, now, type Progress } from './intent.ts';
import {
  arriving,
  createIntent,
  isUnsent,
  type KnownIntent,
  knownIntents,
  listeners,
  note,
  PROBE,
  recall,
  responseTo,
  stops,
} from './known-intent.ts';
import { sendQuery } from './query.ts';
import {
  canCarry,
  carry,
  type HeadedRequest,
  isQuery,
  keyOf,
  OPERATION_TYPE,
  split,
} from './request.ts';
import {
  type AttemptResult,
  codeOf,
  errorBody,
  hasField,
  isAnswered,
  lost,
  lostBody,
  textOf,
  toResponse,
} from './response.ts';
import { ask, settle } from './settle.ts';
import { times } from './times.ts';
import { type Caller, hash } from './token.ts';

/** The options of `createLedgerFetch` and a random number of this call. Only writes of the same call are joined. */
type InstanceOptions = SendOptions & { readonly instance: number };

/** A body with more bytes than this is sent only once. */
const LARGE_BODY = 256 * 1024;

/** The gateway ends an upload that is slower than this rate, or that takes longer than this time. */
const SLOWEST_BYTES_PER_MS = 16;
const LONGEST_UPLOAD_MS = 600_000;

/**
 * Creates a `fetch` that sends a mutation until its outcome is known. All requests have the same idempotency key: that of
 * the header `Idempotency-Key` or of the body, or a new one. The promise always resolves to a GraphQL response, unless `init.signal` aborts.
 * A double click is sent once. Queries are passed on.
 *
 * @throws {Error} where the browser or engine lacks what it needs
 */
export function createLedgerFetch(options: LedgerFetchOptions = {}): typeof fetch {
  const needed = ['Headers', 'Request', 'Response', 'AbortController', 'fetch'];
  for (const name of needed) {
    if (!Reflect.get(options, name) && !Reflect.get(globalThis, name)) {
      throw new Error(`createLedgerFetch needs ${name}.`);
    }
  }
  const instance = Math.random();
  return async (input, init) => {
    const [url, request] = await split(input, init);
    const send = isQuery(request) ? sendQuery : write;
    request.headers.delete(OPERATION_TYPE);
    return send(request, { ...options, url, instance });
  };
}

async function write(request: HeadedRequest, options: InstanceOptions): Promise<Response> {
  const { headers, signal } = request;
  const key = keyOf(request) ?? createIntent('');
  headers.delete('idempotency-key');
  const onProgress = (progress: Progress) => tell([options.onProgress, ...listeners], progress);
  const stop = new AbortController();
  stops.set(stop, key);
  try {
    return await withDeadline(Number.POSITIVE_INFINITY, signal, () =>
      sendOrJoin(key, request, stop.signal, { ...options, onProgress }),
    );
  } finally {
    stop.abort();
    stops.delete(stop);
  }
}

// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: with more functions, the package exceeded its size limit.
async function sendOrJoin(
  key: Intent,
  request: HeadedRequest,
  stop: AbortSignal,
  options: InstanceOptions,
): Promise<Response> {
  const startedAt = performance.now();
  const { doubleClickMs = times.doubleClickMs, instance } = options;
  const { body } = request;
  const id = hash(`${body}`);
  const caller = await admit(key, request, options, stop);
  const { sentAs: intent } = recall(key);
  const known = recall(intent);
  const isReused = known.request && known.request !== id;
  if (caller.rejection || isReused) {
    const reason = caller.rejection ?? 'INTENT_REUSED';
    const isNothing = caller.rejection ? isUnsent(known) : !known.isOpen;
    return toResponse(isNothing ? errorBody(reason) : lostBody(intent, reason));
  }
  const { user } = caller;
  // On a server there is no page, and equal writes may come from two users. A body that is no text, such as a stream, cannot
  // be compared.
  const mayJoin = known.name !== undefined && doubleClickMs > 0 && 'document' in globalThis;
  const joinId =
    mayJoin &&
    textOf(body) &&
    JSON.stringify([instance, known.name, user, options.url, ownHeaders(request), id]);
  const others = [...knownIntents.values()];
  const same = others.find(
    ({ endedAt = startedAt, joinId: otherId }) =>
      joinId && otherId === joinId && startedAt - endedAt <= doubleClickMs,
  );
  if (same) {
    note(intent, { user, request: id, sentAs: same.sentAs });
    // A third click may follow.
    same.endedAt &&= performance.now();
  } else {
    for (const other of others) {
      // After another write, the same write again is a new decision.
      if (other.endedAt) other.joinId = undefined;
    }
    const wasOpen = !isUnsent(known);
    const own = note(intent, {
      user,
      request: id,
      joinId,
      isOpen: true,
      arrives: wasOpen ? known.arrives : true,
      startedAt: known.startedAt ?? now(),
      endedAt: undefined,
      stop,
    });
    own.response = sendUntilKnown(own, caller, request, wasOpen, stop, options).finally(() => {
      own.endedAt = performance.now();
    });
  }
  // If the first request was aborted, only one thing is known: the write may have been sent.
  return (await responseTo(key)) ?? toResponse(lostBody(recall(key).sentAs));
}

async function sendUntilKnown(
  noted: KnownIntent,
  caller: Caller,
  request: HeadedRequest,
  wasOpen: boolean,
  stop: AbortSignal,
  options: SendOptions,
): Promise<Response> {
  const { sentAs: intent } = noted;
  const { attemptMs = times.attemptMs, onProgress } = options;
  const patience = startPatience(options);
  const sending = sendSafely(noted, caller, request, wasOpen, stop, options, patience);
  const [last, isOpen] = await sending;
  throwIfAborted(request.signal);
  if (isOpen) {
    onProgress?.({ intent, attempt: 0, state: 'settling' });
    const settled = await settle(intent, {
      ...request,
      ...options,
      onProgress: undefined,
      patienceMs: Math.max(patience(), attemptMs / 2),
    });
    // If nothing was executed, the last error is the reason, if it has a code.
    if (!codeOf(last.body) || codeOf(settled) !== 'IDEMPOTENCY_KEY_SETTLED') {
      return toResponse(settled);
    }
  } else if (noted.stop === stop) {
    // If the app has sent the same key a second time meanwhile, that request may still take effect.
    note(intent, { isOpen: false, request: hasField(last.body) ? noted.request : undefined });
  }
  return toResponse(last.body, last.init);
}

/**
 * Sends a write. If a request of it may have taken effect, repeats it only after another request has shown that keys arrive.
 * Returns the last result, and whether a request may have taken effect whose outcome it does not contain.
 */
// biome-ignore lint/complexity/noExcessiveCognitiveComplexity: with more functions, the package exceeded its size limit.
async function sendSafely(
  noted: KnownIntent,
  caller: Caller | undefined,
  request: HeadedRequest,
  wasOpen: boolean,
  stop: AbortSignal,
  options: SendOptions,
  patience: () => number,
): Promise<[AttemptResult, boolean]> {
  const { sentAs: intent } = noted;
  const { attemptMs = times.attemptMs, onProgress } = options;
  let sender = caller;
  const doArrive = () => arriving.has(`${options.url}`);
  const probe = (as?: Caller, isRepeat?: boolean) => {
    // A repeat was told to the page as lost. Only that there is no response at all is new.
    const onProbe = ({ attempt, state }: Progress) =>
      (isRepeat && state !== 'offline') || onProgress?.({ intent, attempt, state });
    // A first request is sent once if a router hides what the gateway says. For a repeat, the answer is needed.
    const mayAskAgain = ({ state, body }: AttemptResult) =>
      isRepeat || state === 'not-sent' || !isAnswered(body);
    const probing = { ...request, ...options, onProgress: onProbe };
    return ask(PROBE, stop, probing, as, patience, mayAskAgain);
  };
  if (wasOpen || isOffline() || !doArrive()) {
    const { state, body, init } = await probe(caller);
    if (state === 'lost' && !isAnswered(body)) {
      const reason = init ? `HTTP_${init.status}` : 'OFFLINE';
      return [{ ...lost, body: errorBody(stop.aborted ? 'CANCELLED' : reason) }, wasOpen];
    }
    // Meanwhile, another user may have signed in.
    sender = undefined;
  }
  const arrives = doArrive() && noted.arrives !== false && canCarry(request);
  // An intent that may have been sent before is not sent again unless its key arrives. A key of another shape is that of an app,
  // which may send it for the first time.
  const isKnown = noted.arrives !== undefined || isIntent(intent);
  if (!arrives && (noted.startedAt === 0 || (wasOpen && isKnown))) return [lost, true];
  note(intent, { arrives });
  const size = textOf(request.body)?.length ?? Number.POSITIVE_INFINITY;
  const uploadMs = Math.min(size / SLOWEST_BYTES_PER_MS, LONGEST_UPLOAD_MS);
  return attempt(
    intent,
    (ageMs) => carry(request, intent, ageMs),
    stop,
    { ...options, attemptMs: attemptMs + uploadMs },
    wasOpen,
    // A refusal that says that nothing was sent may be repeated in any case.
    (_, state) => size <= LARGE_BODY && (arrives || state === 'not-sent'),
    sender,
    patience,
    async (as) => {
      if (!arrives) return false;
      const { body } = await probe(as, true);
      const isSeen = doArrive();
      // Without an answer, what was seen before the first request still counts.
      if (!isSeen && hasField(body)) note(intent, { arrives: false });
      return isSeen;
    },
  );
}

/**
 * The headers that differ between the two requests of a double click: the one with the token, and those in which common
 * tracers give each request a name.
 */
const ofEachRequest =
  /^(authorization|trace(parent|state)|baggage|b3|x-b3-(traceid|spanid|parentspanid|sampled|flags)|x-datadog-(trace-id|parent-id|origin|sampling-priority|tags)|(x-)?(request|correlation)-id|x-(trace-id|amzn-trace-id|cloud-trace-context)|uber-trace-id|sentry-trace|newrelic|elastic-apm-traceparent)$/;

/** All other headers. Writes with different ones are different writes, because the gateway may forward them to the service. */
const ownHeaders = ({ headers }: HeadedRequest): string[][] =>
  [...headers].filter(([name]) => !ofEachRequest.test(name));
