import { attempt, type LedgerFetchOptions, startPatience } from './attempts.ts';
import { throwIfAborted } from './deadline.ts';
import { type Intent, withHeaders } from './intent.ts';
import { arriving, isUnsent, note, PROBE, recall } from './known-intent.ts';
import { carry } from './request.ts';
import {
  type AttemptResult,
  codeOf,
  errorBody,
  type GraphqlBody,
  isAnswered,
  lostBody,
} from './response.ts';
import { settleDocument } from './settle-document.ts';
import type { Caller } from './token.ts';

/** The document that `settle` of version 1.0.0 sends. Every gateway since then knows it, so it must not change. */
const firstDocument =
  'mutation SettleWrites($ageMs: Float, $idempotencyKey: String!) { __typename settleWrites(idempotencyKey: $idempotencyKey, ageMs: $ageMs) { __typename isComplete writes { __typename outcome { __typename ... on LedgerOutcomeUnknown { __typename code requestId } ... on LedgerProblem { __typename message } ... on LedgerStatus { __typename invoiceId message } ... on LedgerUnrecognizedStatus { __typename status } ... on WorkflowActionCompleted { __typename action } ... on WorkflowCsvUploaded { __typename invoiceId message unresolved } } responseName } } }';

/** The only text for users in this package: what it says is for those who run the proxy or router. */
const messageOf = (keyArrived: unknown): string =>
  `This may have been carried out. Nobody can tell, because ${
    keyArrived
      ? 'idempotency keys were not seen to arrive before it was sent.'
      : keyArrived === false
        ? 'its idempotency key did not arrive at the gateway. Proxies and routers on the way must forward the request header Idempotency-Key.'
        : 'the gateway did not say whether idempotency keys arrive. Upgrade it, and publish its schema to the router.'
  }`;

export type SettleOptions = LedgerFetchOptions & {
  readonly url: string | URL;
  readonly headers?: RequestInit['headers'] | undefined;
  readonly credentials?: RequestCredentials;
  readonly signal?: AbortSignal | null | undefined;
};

/** A GraphQL result, for `readField`. */
export type SettledResult<Data extends object> = Omit<GraphqlBody, 'data'> & {
  readonly data?: Partial<Data> | null;
};

/**
 * Asks for the outcome of an intent, without sending the intent again, and closes it: if it has not been executed by then,
 * it never will be. The result has the form of the mutation's result: the outcomes by response name, with all of their
 * fields, or one error:
 *
 * - `IDEMPOTENCY_KEY_SETTLED`: nothing was executed, and nothing will be
 * - `OUTCOME_UNKNOWN`: the gateway has no claim of this intent, and may have lost it
 * - `KEY_NOT_CONFIRMED`: the gateway has no claim of this intent, and its key may have been lost on the way
 * - `RESPONSE_LOST`: the gateway does not know the outcome at the moment; ask again. With the `reason` `KEY_NOT_CONFIRMED`, a
 *   router hides what the gateway says, and asking again may not help
 *
 * For an intent of another user, it sends nothing and returns `RESPONSE_LOST`. That user can still ask. Rejects only if
 * `signal` aborts.
 */
export async function settle<Data extends object = Record<string, unknown>>(
  intent: Intent,
  { signal, ...options }: SettleOptions & { readonly instance?: number },
): Promise<SettledResult<Data>> {
  const { sentAs } = recall(intent);
  const known = recall(sentAs);
  // From now on, each request with this key needs an age, also the first one.
  known.startedAt = 0;
  const last = await ask(sentAs, signal, options);
  throwIfAborted(signal);
  // From now on, the same click is a new decision, unless the write has asked by itself: only its options have an `instance`.
  if (!options.instance) known.joinId = undefined;
  const result = toResult(last, sentAs, known.arrives || isUnsent(known));
  const isKnown = last.state === 'final' && !/LOST|UNKNOWN|CONFIRMED/.test(`${codeOf(result)}`);
  if (isKnown && known.request) note(sentAs, { isOpen: false });
  // The caller's type parameter describes the fields, and `settle` cannot check it.
  return result as SettledResult<Data>;
}

/** Settles a key, and learns whether keys arrive at this address. */
export async function ask(
  key: Intent,
  signal: AbortSignal | null | undefined,
  options: Omit<SettleOptions, 'signal'>,
  caller?: Caller,
  patience = startPatience(options),
  mayRepeat?: (last: AttemptResult) => boolean,
): Promise<AttemptResult> {
  const send = async (query: string) => {
    const init = (ageMs?: number) => {
      const body = JSON.stringify({ query, variables: { idempotencyKey: key, ageMs } });
      const type = { 'content-type': 'application/json' };
      return carry(withHeaders({ ...options, method: 'POST', body }, type), key, ageMs);
    };
    const isOpen = key !== PROBE;
    const sending = attempt(key, init, signal, options, isOpen, mayRepeat, caller, patience);
    return (await sending)[0];
  };
  let last = await send(settleDocument);
  // A gateway or a manifest that is older than this package may lack a field of the document.
  if (/VALIDATION|SAFELIST/.test(`${codeOf(last.body)}`)) last = await send(firstDocument);
  const { keyArrived } = Object(last.body.data?.settleWrites);
  arriving[keyArrived ? 'add' : 'delete'](`${options.url}`);
  return last;
}

/** The result of `settle`. `wasSeen` says whether the intent was sent only while keys were seen to arrive. */
function toResult({ body, state }: AttemptResult, intent: Intent, wasSeen: boolean): GraphqlBody {
  const { isComplete, keyArrived, writes }: Record<string, unknown> = Object(
    body.data?.settleWrites,
  );
  if (!Array.isArray(writes)) {
    // A router answers, and does not say what the gateway has said. Asking again may get the same.
    const isHidden = !wasSeen && state === 'lost' && isAnswered(body);
    return lostBody(intent, isHidden ? 'KEY_NOT_CONFIRMED' : codeOf(body));
  }
  const outcomes = writes.map(({ responseName, outcome }: Record<string, unknown>) => [
    responseName,
    outcome,
  ]);
  // What became of the fields without an outcome. `readField` reads it in the extensions, because clients take `errors` for a
  // failure.
  const ofOthers =
    wasSeen && keyArrived
      ? errorBody(isComplete ? 'IDEMPOTENCY_KEY_SETTLED' : 'OUTCOME_UNKNOWN')
      : errorBody('KEY_NOT_CONFIRMED', {}, messageOf(keyArrived));
  return outcomes[0] ? { data: Object.fromEntries(outcomes), extensions: ofOthers } : ofOthers;
}
