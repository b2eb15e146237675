import { errorBody, isObject, lost, lostBody, parseJson, toResponse } from './answer.ts';
import {
  attempt,
  defaults,
  type LedgerFetchOptions,
  type Progress,
  progressListeners,
  type Result,
  rejection,
} from './attempts.ts';
import { untilCancelled } from './cancel.ts';
import { throwIfAborted } from './deadline.ts';
import { sendOnce } from './double-click.ts';
import { ageOf, type Intent, isFirstRequest, newIntent, withHeader, withIntent } from './intent.ts';
import { sendQuery } from './query.ts';
import { mayBeOf, noteIntent, sentFor } from './sent-intent.ts';
import { settle } from './settle.ts';
import { type Caller, identify, signInFailed, withToken } from './token.ts';

const AGE = 'idempotency-key-age';

/** Says `query` or `mutation` for a request whose document is named by a hash. It is not sent. */
const OPERATION_TYPE = 'operation-type';

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
  const needed = ['Headers', 'Request', 'Response', 'AbortController'];
  if (!options.fetch) needed.push('fetch');
  const missing = needed.filter((name) => Reflect.get(globalThis, name) === undefined);
  if (missing.length > 0) throw new Error(`createLedgerFetch needs ${missing.join(', ')}.`);
  return async (input, init) => {
    const [url, request, isQuery] = await split(input, init);
    return isQuery ? read(url, request, options) : write(url, request, options);
  };
}

async function write(
  url: string | URL,
  request: RequestInit,
  options: LedgerFetchOptions,
): Promise<Response> {
  const startedAt = performance.now();
  const { body, signal } = request;
  const { attemptMs = defaults.attemptMs, doubleClickMs = defaults.doubleClickMs } = options;
  const caller = await identify(request, options.token, attemptMs, signal);
  throwIfAborted(signal);
  const intent = sentFor(new Headers(request.headers).get('idempotency-key') ?? newIntent());
  const isFirst = isFirstRequest(intent);
  if (!caller) return toResponse(isFirst ? signInFailed() : lostBody(intent, 'SIGN_IN_FAILED'));
  if (!mayBeOf(intent, caller.user)) return toResponse(lostBody(intent, 'OTHER_USER'));
  noteIntent(intent, caller.user);
  const send = () => sendUntilKnown({ intent, isFirst, caller, url, request, options });
  // What is no text cannot be compared, or sent twice, such as a stream.
  if (typeof body !== 'string') return send();
  const text = `${url} ${body}`;
  return sendOnce({ intent, user: caller.user, text, startedAt }, doubleClickMs, send);
}

type Write = {
  readonly intent: Intent;
  readonly isFirst: boolean;
  readonly caller: Caller;
  readonly url: string | URL;
  readonly request: RequestInit;
  readonly options: LedgerFetchOptions;
};

async function sendUntilKnown(write: Write): Promise<Response> {
  const { intent, isFirst, caller, url, request } = write;
  const onProgress = (progress: Progress) => {
    progressListeners.get(intent)?.(progress);
    write.options.onProgress?.(progress);
  };
  const options = { ...write.options, onProgress };
  const { attemptMs: smallMs = defaults.attemptMs, patienceMs = defaults.patienceMs } = options;
  const { body, signal } = request;
  const size = typeof body === 'string' ? body.length : Number.POSITIVE_INFINITY;
  const attemptMs = smallMs + Math.min(size / SLOWEST_BYTES_PER_MS, LONGEST_UPLOAD_MS);
  let isSent = !isFirst;
  const init = (isRepeat: boolean) => {
    isSent = true;
    return withAge(withIntent(request, intent), intent, isRepeat ? attemptMs : undefined);
  };
  const mayRepeat = size <= LARGE_BODY;
  const attempts = { intent, url, init, caller, isRepeat: !isFirst, mayRepeat, attemptMs };
  const { last, isOpen, giveUpAt } = await untilCancelled<Result>(intent, signal, (stop) =>
    attempt({ ...attempts, signal: stop }, options).catch((error: unknown) => {
      if (signal?.aborted || !stop.aborted) throw error;
      const giveUpAt = performance.now() + patienceMs;
      return { last: isSent ? lost : rejection(cancelled()), isOpen: isSent, giveUpAt };
    }),
  );
  if (!isOpen && last.response) return last.response;
  onProgress({ intent, attempt: 0, state: 'settling' });
  const settled = await settle(intent, {
    ...options,
    onProgress: undefined,
    url,
    headers: withoutIntent(request.headers),
    signal,
    patienceMs: Math.max(giveUpAt - performance.now(), smallMs / 2),
  });
  const code = settled.errors?.[0]?.extensions?.code;
  // Nothing was executed, so the last error is the reason.
  const hasReason = code === 'IDEMPOTENCY_KEY_SETTLED' && last.code !== undefined;
  return hasReason && last.response ? last.response : toResponse(settled);
}

const cancelled = () => errorBody('CANCELLED', 'It was cancelled. Nothing was sent.');

function withoutIntent(init: RequestInit['headers']): Headers {
  const headers = new Headers(init);
  for (const name of ['idempotency-key', AGE]) headers.delete(name);
  return headers;
}

/** Adds the age of the intent. `delayMs` is undefined for the first request. */
function withAge(init: RequestInit, intent: Intent, delayMs: number | undefined): RequestInit {
  const ageMs = ageOf(intent, delayMs ?? 0);
  return ageMs === undefined ? init : withHeader(init, AGE, `${delayMs === undefined ? 0 : ageMs}`);
}

async function read(
  url: string | URL,
  request: RequestInit,
  options: LedgerFetchOptions,
): Promise<Response> {
  const { token, fetch: send = fetch } = options;
  async function sendSigned(end = request.signal, rejected?: string): Promise<Response> {
    let bearer: string | undefined;
    let signed: RequestInit;
    try {
      bearer = await token?.(rejected);
      signed = withToken(end ? { ...request, signal: end } : request, bearer);
    } catch {
      return toResponse(signInFailed());
    }
    const response = await send(url, signed);
    const isRenewable = response.status === 401 && bearer !== undefined && rejected === undefined;
    return isRenewable ? sendSigned(end, bearer) : response;
  }
  return sendQuery(sendSigned, request.signal, options);
}

/** Whether a request can change nothing: only a `POST` may be a mutation, also one that names its document by a hash. */
function isQuery({ method = 'GET', body }: RequestInit): boolean {
  if (method.toUpperCase() !== 'POST') return true;
  if (typeof body !== 'string' || !/"query"\s*:/.test(body)) return false;
  if (!/\bmutation\b/.test(body)) return true;
  // The word may be in the variables. It takes long to parse a large body, such as that of an upload.
  const parsed = body.length <= LARGE_BODY && parseJson(body);
  if (!isObject(parsed) || typeof parsed.query !== 'string') return false;
  return !/\bmutation\b/.test(parsed.query);
}

/** The parts of a request, whose body can be sent twice, and whether it is a query. */
async function split(
  input: Parameters<typeof fetch>[0],
  init: RequestInit = {},
): Promise<[string | URL, RequestInit, boolean]> {
  const [url, request] = input instanceof Request ? await splitRequest(input, init) : [input, init];
  const headers = new Headers(request.headers);
  const type = headers.get(OPERATION_TYPE);
  if (type === null) return [url, request, isQuery(request)];
  headers.delete(OPERATION_TYPE);
  return [url, { ...request, headers }, type === 'query'];
}

async function splitRequest(input: Request, init: RequestInit): Promise<[string, RequestInit]> {
  const request = new Request(input, init);
  const { url, method, headers, credentials, signal } = request;
  const body = method === 'GET' ? null : await request.text();
  return [url, { method, headers, credentials, signal, body }];
}
