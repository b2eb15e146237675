import { toResponse } from './answer.ts';
import { attempt, defaults, type LedgerFetchOptions } from './attempts.ts';
import { ageOf, type Intent, isFirstRequest, newIntent, withHeader, withIntent } from './intent.ts';
import { settle } from './settle.ts';
import { signInFailed, tokenOfOneUser, withToken } from './token.ts';

const AGE = 'idempotency-key-age';

/** A body of more bytes is sent once. */
const LARGE_BODY = 256 * 1024;

/** The gateway ends an upload that is slower than this, or longer. */
const SLOWEST_BYTES_PER_MS = 16;
const LONGEST_UPLOAD_MS = 600_000;

/**
 * Creates a `fetch` that sends a mutation until its outcome is known, with one idempotency key: that of the
 * header, or a new one. The response is always one of GraphQL, so the promise rejects only if `init.signal`
 * aborts. A request without a mutation is sent once, as it is.
 */
export function createLedgerFetch(options: LedgerFetchOptions = {}): typeof fetch {
  return async (input, init) => {
    const [url, request] = await split(input, init);
    return isRead(request)
      ? read(url, request, options)
      : write(url, request, { ...options, token: tokenOfOneUser(options.token) });
  };
}

async function write(
  url: string | URL,
  request: RequestInit,
  options: LedgerFetchOptions,
): Promise<Response> {
  const { signal } = request;
  const intent = new Headers(request.headers).get('idempotency-key') ?? newIntent();
  const { body } = request;
  // What is no text cannot be sent twice, such as a stream.
  const size = typeof body === 'string' ? body.length : Number.POSITIVE_INFINITY;
  const { attemptMs: smallMs = defaults.attemptMs } = options;
  const attemptMs = smallMs + Math.min(size / SLOWEST_BYTES_PER_MS, LONGEST_UPLOAD_MS);
  const { last, isOpen, giveUpAt } = await attempt(
    {
      intent,
      url,
      init: (isRepeat) =>
        withAge(withIntent(request, intent), intent, isRepeat ? attemptMs : undefined),
      isRepeat: !isFirstRequest(intent),
      mayRepeat: size <= LARGE_BODY,
      attemptMs,
      signal,
    },
    options,
  );
  if (!isOpen && last.response) return last.response;
  options.onProgress?.({ intent, attempt: 0, state: 'settling' });
  const patienceMs = Math.max(giveUpAt - performance.now(), smallMs / 2);
  const headers = new Headers(request.headers);
  for (const name of ['idempotency-key', AGE]) headers.delete(name);
  const quiet = { ...options, onProgress: undefined };
  const settled = await settle(intent, { ...quiet, url, headers, signal, patienceMs });
  const code = settled.errors?.[0]?.extensions?.code;
  // Nothing was executed, so the last error is the reason.
  const hasReason = code === 'IDEMPOTENCY_KEY_SETTLED' && last.code !== undefined;
  return hasReason && last.response ? last.response : toResponse(settled);
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
  rejected?: string,
): Promise<Response> {
  const { token, fetch: send = fetch } = options;
  let bearer: string | undefined;
  let signed: RequestInit;
  try {
    bearer = await token?.(rejected);
    signed = withToken(request, bearer);
  } catch {
    return signInFailed();
  }
  const response = await send(url, signed);
  const isRenewable = response.status === 401 && bearer !== undefined && rejected === undefined;
  return isRenewable ? read(url, request, options, bearer) : response;
}

/** Whether a request can change nothing: only a `POST` may be a mutation, also one that names its document by a hash. */
function isRead({ method = 'GET', body }: RequestInit): boolean {
  if (method.toUpperCase() !== 'POST') return true;
  return typeof body === 'string' && /"query"\s*:/.test(body) && !/\bmutation\b/.test(body);
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
