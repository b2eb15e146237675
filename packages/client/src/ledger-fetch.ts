import {
  codeOf,
  errorBody,
  hasField,
  isObject,
  lostBody,
  parseJson,
  toResponse,
} from './answer.ts';
import { attempt, type LedgerFetchOptions, PATIENCE_MS, tell, untilOnline } from './attempts.ts';
import { throwIfAborted, withDeadline } from './deadline.ts';
import { ageOf, type Progress, withHeaders } from './intent.ts';
import {
  conflictOf,
  isUnsent,
  type KnownIntent,
  knownIntents,
  newIntent,
  note,
  recall,
} from './known-intent.ts';
import { sendQuery } from './query.ts';
import { settle } from './settle.ts';
import { ATTEMPT_MS, type Caller, hash, identify } from './token.ts';

/** Says `query` or `mutation` for a request whose document is named by a hash. It is not sent. */
const OPERATION_TYPE = 'operation-type';

const KEY = 'idempotency-key';
const AGE = 'idempotency-key-age';

/** A body of more bytes is sent once. */
const LARGE_BODY = 256 * 1024;

/** The gateway ends an upload that is slower than this, or longer. */
const SLOWEST_BYTES_PER_MS = 16;
const LONGEST_UPLOAD_MS = 600_000;

/**
 * Creates a `fetch` that sends a mutation until its outcome is known, with one idempotency key: that of the
 * header, or a new one. The response is always one of GraphQL, so the promise rejects only if `init.signal`
 * aborts. A double click is sent once. A query is sent as `options.queries` says.
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
  return async (input, init) => {
    const [url, request] = await split(input, init);
    const type = new Headers(request.headers).get(OPERATION_TYPE);
    const isRead = type === null ? isQuery(request) : type === 'query';
    return (isRead ? sendQuery : write)(
      url,
      withHeaders(request, { [OPERATION_TYPE]: null }),
      options,
    );
  };
}

async function write(
  url: string | URL,
  request: RequestInit,
  options: LedgerFetchOptions,
): Promise<Response> {
  const startedAt = performance.now();
  const { body, signal } = request;
  const { doubleClickMs = 500, patienceMs = PATIENCE_MS } = options;
  const key = new Headers(request.headers).get(KEY) ?? newIntent();
  const onProgress = (progress: Progress) => {
    // Those of a double click hear of it, too.
    for (const each of knownIntents().values()) {
      if (each.sentAs === progress.intent) tell(each.onProgress, progress);
    }
    tell(options.onProgress, progress);
  };
  const stop = new AbortController();
  const { sentAs } = recall(key);
  const { stops = new Set() } = recall(sentAs);
  note(sentAs, { stops: stops.add(stop) });
  signal?.addEventListener('abort', () => stop.abort(), { signal: stop.signal });
  try {
    throwIfAborted(signal);
    const offline: Progress = { intent: sentAs, attempt: 0, state: 'offline' };
    const isOnline = await untilOnline(offline, patienceMs, stop.signal, onProgress);
    const caller = isOnline ? await identify(request, options, stop.signal) : undefined;
    throwIfAborted(signal);
    const intent = recall(key).sentAs;
    const known = recall(intent);
    const id = hash(`${body}`);
    const conflict = isOnline ? conflictOf(known, caller, id) : 'OFFLINE';
    const reason = stop.signal.aborted ? 'CANCELLED' : conflict;
    if (!caller || reason) {
      const isNothing = isUnsent(known) || (!known.isOpen && reason === 'INTENT_REUSED');
      return toResponse(isNothing ? errorBody(`${reason}`) : lostBody(intent, reason));
    }
    const { user } = caller;
    // What is no text cannot be compared, or sent twice, such as a stream.
    const joinId =
      typeof body === 'string' && doubleClickMs > 0
        ? hash(`${user} ${url} ${ownHeaders(request)} ${id}`)
        : undefined;
    const others = [...knownIntents().values()];
    const same = others.find(
      ({ response, endedAt = startedAt, joinId: otherId }) =>
        response && joinId && otherId === joinId && startedAt - endedAt <= doubleClickMs,
    );
    let sent = same;
    if (sent) note(intent, { user, request: id, sentAs: sent.sentAs });
    else {
      for (const other of others) {
        // After another write of the user, the same one is a new decision.
        if (other.user === user && other.endedAt) other.response = undefined;
      }
      const wasOpen = !isUnsent(known);
      sent = note(intent, { user, request: id, joinId, isOpen: true, endedAt: undefined });
      const all = { ...options, onProgress };
      sent.response = sendUntilKnown(sent, caller, url, request, wasOpen, stop.signal, all);
    }
    try {
      const result = await withDeadline(Number.POSITIVE_INFINITY, signal, () => sent.response);
      // A response can be copied until its body is read.
      if (result) return result.clone();
    } catch {
      throwIfAborted(signal);
    } finally {
      // The next click may follow this one.
      if (!same || same.endedAt) sent.endedAt = performance.now();
    }
    // The first one was aborted, so all that is known is that it may have been sent.
    return toResponse(lostBody(sent.sentAs));
  } finally {
    stop.abort();
    stops.delete(stop);
  }
}

async function sendUntilKnown(
  noted: KnownIntent,
  caller: Caller,
  url: string | URL,
  request: RequestInit,
  wasOpen: boolean,
  stop: AbortSignal,
  options: LedgerFetchOptions,
): Promise<Response> {
  const { sentAs: intent } = noted;
  const { attemptMs: smallMs = ATTEMPT_MS, onProgress } = options;
  const { body, signal } = request;
  const size = typeof body === 'string' ? body.length : Number.POSITIVE_INFINITY;
  const attemptMs = smallMs + Math.min(size / SLOWEST_BYTES_PER_MS, LONGEST_UPLOAD_MS);
  const init = (isAged: boolean) => {
    const age = ageOf(intent, attemptMs);
    return withHeaders(request, { [KEY]: intent, [AGE]: age && (isAged ? age : 0) });
  };
  const mayRepeat = size <= LARGE_BODY;
  const { last, isOpen, giveUpAt } = await attempt(
    { intent, url, init, caller, isOpen: wasOpen, mayRepeat, signal, stop },
    { ...options, attemptMs },
  );
  if (isOpen) {
    onProgress?.({ intent, attempt: 0, state: 'settling' });
    const settled = await settle(intent, {
      ...options,
      onProgress: undefined,
      url,
      headers: withHeaders(request, { [KEY]: null, [AGE]: null }).headers,
      signal,
      patienceMs: Math.max(giveUpAt - performance.now(), smallMs / 2),
    });
    // Where nothing was executed, the last error is the reason.
    const isNothing = codeOf(settled) === 'IDEMPOTENCY_KEY_SETTLED';
    if (!isNothing || !last.body.errors) return toResponse(settled);
  } else note(intent, { isOpen: false, request: hasField(last.body) ? noted.request : undefined });
  return toResponse(last.body, last.init);
}

/** The headers that the gateway may forward to the service. A header of a trace is another one for each request. */
const ownHeaders = ({ headers }: RequestInit): string[][] =>
  [...new Headers(headers)].filter(
    ([name]) =>
      !/^(accept|authorization|content-type|idempotency-)|trac|baggage|b3|datadog|(request|correlation)-id/.test(
        name,
      ),
  );

/** Whether a request can change nothing: only a `POST` may be a mutation, also one that names its document by a hash. */
function isQuery({ method = 'GET', body }: RequestInit): boolean {
  if (method.toUpperCase() !== 'POST') return true;
  if (typeof body !== 'string') return false;
  const word = /\bmutation\b/;
  if (!word.test(body)) return /"query"\s*:/.test(body);
  // The word may be in the variables. It takes long to parse a large body, such as that of an upload.
  const parsed = body.length <= LARGE_BODY && parseJson(body);
  return isObject(parsed) && typeof parsed.query === 'string' && !word.test(parsed.query);
}

/** The parts of a request, whose body can be sent twice. */
async function split(
  input: Parameters<typeof fetch>[0],
  init: RequestInit = {},
): Promise<[string | URL, RequestInit]> {
  if (!(input instanceof Request)) return [input, init];
  const request = new Request(input, init);
  const { url, method, headers, credentials, signal } = request;
  const body = method === 'GET' ? null : await request.text();
  return [url, { method, headers, credentials, signal, body }];
}
