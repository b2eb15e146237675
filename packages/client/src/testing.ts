import { now } from './intent.ts';
import { arriving, knownIntents, PROBE, page } from './known-intent.ts';
import { split } from './request.ts';
import { type GraphqlBody, parseJson, toResponse, tryTo } from './response.ts';
import { times } from './times.ts';

/**
 * What becomes of a write, and what the page then shows:
 *
 * - `done`: it took effect
 * - `refused`: the service refused it, with the member `refusal`
 * - `failed`: it did nothing, for the reason `error`
 * - `lost`: no response arrives, also to the question for its outcome. `unknown`, and asking again may help
 * - `unknown`: the service did not say what became of it. `unknown`, and asking again does not help
 * - `in-progress`: the gateway has no outcome yet. `unknown`, and asking again may help
 * - `orphaned`: the gateway stopped, or lost its records. `unknown`, and asking again may help once
 * - `settled`: the response was lost, and the gateway says that nothing was done. `failed`
 * - `offline`: the device has no connection. `failed`
 */
export type Situation =
  | 'done'
  | 'refused'
  | 'failed'
  | 'lost'
  | 'unknown'
  | 'in-progress'
  | 'orphaned'
  | 'settled'
  | 'offline';

type Member = { readonly __typename: string };

export type TestGatewayOptions = {
  /** The member for success of each root field that the tests send, by its response name. */
  readonly done: Readonly<Record<string, Member>>;
  /** `done` by default. */
  readonly situation?: Situation | undefined;
  /** The member of a refusal. `LedgerNotPermitted` by default. */
  readonly refusal?: Member | undefined;
  /** The error of a write that `failed`, with what its `extensions` have. By default, the code is `UPSTREAM_BAD_REQUEST`. */
  readonly error?:
    | { readonly code: string; readonly message?: string; readonly [extension: string]: unknown }
    | undefined;
  /** Responds to all requests that are neither writes nor questions for an outcome, such as queries. */
  readonly queries?: ((request: Request) => Response | Promise<Response>) | undefined;
  /** The times of all writes whose options do not say them, in milliseconds. Short ones by default. */
  readonly times?: Partial<typeof times> | undefined;
};

/** A request that arrived: a write, or the question for its outcome. */
export type Arrival = {
  readonly kind: 'write' | 'settle';
  /** The intent, which is the idempotency key. */
  readonly intent: string;
  readonly variables: unknown;
};

export type TestGateway = {
  /** May be changed at any time, such as before the user asks again. */
  situation: Situation;
  /** What has arrived, in this order. */
  readonly arrivals: readonly Arrival[];
  /** Takes the place of the global `fetch`. */
  readonly fetch: typeof fetch;
  /**
   * Responds to a request, for a library that intercepts requests, such as MSW. A response that is lost is
   * `Response.error()`. Undefined for a query, unless there are `queries`.
   */
  readonly respond: (request: Request) => Promise<Response | undefined>;
};

const shortTimes: typeof times = { attemptMs: 500, patienceMs: 50, delayMs: 5, doubleClickMs: 0 };

const defaultRefusal = { __typename: 'LedgerNotPermitted', message: 'Not permitted.' };

/**
 * Creates a stand-in for the gateway, for the tests of an app. Create one for each test: it also forgets every write of
 * earlier tests, with what the storage holds of them, as if the app ran in a new tab.
 */
export function createTestGateway(options: TestGatewayOptions): TestGateway {
  forgetPage();
  Object.assign(times, shortTimes, options.times);
  const startedAt = Math.floor(now());
  const arrivals: Arrival[] = [];
  /** The root fields of each write. */
  const fields = new Map<string, readonly string[]>();
  let situation: Situation = 'done';

  async function respond(request: Request): Promise<Response | undefined> {
    const { query, variables } = Object(parseJson(await request.clone().text()));
    const intent = request.headers.get('idempotency-key');
    // The package asks by `HEAD` whether a device that says that it is offline has a connection.
    if (!intent && request.method !== 'HEAD') return options.queries?.(request);
    const body =
      situation === 'offline' || !intent ? undefined : bodyOf(intent, `${query}`, variables);
    return body ? toResponse(body) : Response.error();
  }

  /** The response to a write, or to a question. Undefined if it is lost. */
  function bodyOf(intent: string, query: string, variables: unknown): GraphqlBody | undefined {
    if (intent === PROBE) return settled([], true);
    // A write of an earlier test. Nobody waits for its outcome any more.
    if (Number.parseInt(intent, 36) < startedAt) return undefined;
    const settles = /\bsettleWrites\b/.test(query);
    arrivals.push({ kind: settles ? 'settle' : 'write', intent, variables });
    if (!settles) fields.set(intent, fieldsOf(query, Object.keys(options.done)));
    const names = fields.get(intent) ?? Object.keys(options.done);
    return (settles ? settlement : result)(situation, names, options);
  }

  setOnline(options.situation !== 'offline');
  situation = options.situation ?? 'done';
  return {
    get situation() {
      return situation;
    },
    set situation(next) {
      situation = next;
      setOnline(next !== 'offline');
    },
    arrivals,
    respond,
    async fetch(input, init) {
      const [url, { method = 'GET', headers, body = null }] = await split(input, init);
      const address = new URL(url, globalThis.location?.href);
      const response = await respond(new Request(address, { method, headers, body }));
      if (!response) throw new Error('Without `queries`, a test gateway responds to no query.');
      if (response.type === 'error') throw new TypeError('Failed to fetch');
      return response;
    },
  };
}

/** The root fields that a document has. A request may name its document by a hash alone, and then they are not known. */
function fieldsOf(query: string, names: readonly string[]): readonly string[] {
  const own = names.filter((name) => new RegExp(`\\b${name}\\b`).test(query));
  return own.length > 0 ? own : names;
}

/** The response to a write. Undefined if it is lost. */
function result(
  situation: Situation,
  names: readonly string[],
  options: TestGatewayOptions,
): GraphqlBody | undefined {
  if (situation === 'failed') {
    const { code = 'UPSTREAM_BAD_REQUEST', message = code, ...more } = options.error ?? {};
    const extensions = { code, requestId: 'test', retryable: false, ...more };
    return {
      data: Object.fromEntries(names.map((name) => [name, null])),
      errors: names.map((name) => ({ message, path: [name], extensions })),
    };
  }
  const members = names.map((name) => [name, memberOf(situation, name, options)]);
  const isLost = members.some(([, member]) => !member);
  return isLost ? undefined : { data: Object.fromEntries(members) };
}

/** The response to the question for the outcomes of a write. Undefined if it is lost. */
function settlement(
  situation: Situation,
  names: readonly string[],
  options: TestGatewayOptions,
): GraphqlBody | undefined {
  if (situation === 'lost') return undefined;
  const writes = names.flatMap((responseName) => {
    const outcome = memberOf(situation, responseName, options);
    return outcome ? { responseName, outcome } : [];
  });
  return settled(writes, situation !== 'orphaned');
}

/** The response to `settleWrites`. */
const settled = (writes: object[], isComplete: boolean): GraphqlBody => ({
  data: { settleWrites: { isComplete, writes, keyArrived: true } },
});

/** The outcome of a field. Undefined if it has none. */
function memberOf(situation: Situation, name: string, options: TestGatewayOptions): unknown {
  const codes = { unknown: 'UPSTREAM_TIMEOUT', 'in-progress': 'IN_PROGRESS', orphaned: 'ORPHANED' };
  switch (situation) {
    case 'done':
      return options.done[name];
    case 'refused':
      return options.refusal ?? defaultRefusal;
    case 'unknown':
    case 'in-progress':
    case 'orphaned': {
      const message = 'The outcome is not known.';
      const code = codes[situation];
      return { __typename: 'LedgerOutcomeUnknown', message, code, requestId: 'test' };
    }
    default:
      return undefined;
  }
}

/** Forgets all intents, and what the storage holds of them. A write that the app keeps begins anew. */
function forgetPage(): void {
  page.count += 1;
  knownIntents.clear();
  arriving.clear();
  tryTo(() => {
    const items = Array.from(sessionStorage, (_, index) => sessionStorage.key(index));
    for (const item of items) {
      if (item?.startsWith('ledger-gateway:')) sessionStorage.removeItem(item);
    }
  });
}

/** Sets whether the device has a connection, as the package and the app see it. */
function setOnline(isOnline: boolean): void {
  const { navigator } = globalThis;
  if (!navigator || isOnline === (navigator.onLine !== false)) return;
  if (isOnline) Reflect.deleteProperty(navigator, 'onLine');
  else Object.defineProperty(navigator, 'onLine', { value: false, configurable: true });
  globalThis.dispatchEvent?.(new Event(isOnline ? 'online' : 'offline'));
}
