import { attempt, type LedgerFetchOptions } from './attempts.ts';
import { throwIfAborted } from './deadline.ts';
import { type Intent, withHeaders } from './intent.ts';
import { note, recall } from './known-intent.ts';
import { codeOf, errorBody, type GraphqlBody, lostBody } from './response.ts';
import { settleDocument } from './settle-document.ts';

/** The document that `settle` of version 1.0.0 sends. Every gateway since then knows it, so it must not change. */
const firstDocument =
  'mutation SettleWrites($ageMs: Float, $idempotencyKey: String!) { __typename settleWrites(idempotencyKey: $idempotencyKey, ageMs: $ageMs) { __typename isComplete writes { __typename outcome { __typename ... on LedgerOutcomeUnknown { __typename code requestId } ... on LedgerProblem { __typename message } ... on LedgerStatus { __typename invoiceId message } ... on LedgerUnrecognizedStatus { __typename status } ... on WorkflowActionCompleted { __typename action } ... on WorkflowCsvUploaded { __typename invoiceId message unresolved } } responseName } } }';

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
 * - `RESPONSE_LOST`: the gateway does not know the outcome at the moment; ask again
 *
 * For an intent of another user, it sends nothing and returns `RESPONSE_LOST`. That user can still ask. Rejects only if
 * `signal` aborts.
 */
export async function settle<Data extends object = Record<string, unknown>>(
  intent: Intent,
  { url, signal, ...options }: SettleOptions & { readonly instance?: number },
): Promise<SettledResult<Data>> {
  const { sentAs } = recall(intent);
  const known = recall(sentAs);
  const ask = (query: string) => {
    const init = (ageMs?: number) => {
      const body = JSON.stringify({ query, variables: { idempotencyKey: sentAs, ageMs } });
      return withHeaders(
        { ...options, method: 'POST', body },
        { 'content-type': 'application/json' },
      );
    };
    return attempt(sentAs, url, init, signal, options);
  };
  // From now on, each request with this key needs an age, also the first one.
  known.startedAt = 0;
  let [last] = await ask(settleDocument);
  // A gateway or a manifest that is older than this package may lack a field of the document.
  if (/VALIDATION|SAFELIST/.test(`${codeOf(last.body)}`)) [last] = await ask(firstDocument);
  throwIfAborted(signal);
  // From now on, the same click is a new decision, unless the write has asked by itself: only its options have an `instance`.
  if (!options.instance) known.joinId = undefined;
  const result = toResult(last.body, sentAs);
  const isKnown = last.state === 'final' && !/LOST|UNKNOWN/.test(`${codeOf(result)}`);
  if (isKnown && known.request) note(sentAs, { isOpen: false });
  // The caller's type parameter describes the fields, and `settle` cannot check it.
  return result as SettledResult<Data>;
}

function toResult(body: GraphqlBody, intent: Intent): GraphqlBody {
  const { isComplete, writes }: Record<string, unknown> = Object(body.data?.settleWrites);
  if (!Array.isArray(writes)) return lostBody(intent, codeOf(body));
  const outcomes = writes.map(({ responseName, outcome }: Record<string, unknown>) => [
    responseName,
    outcome,
  ]);
  // What became of the fields without an outcome. `readField` reads it in the extensions, because clients take `errors` for a
  // failure.
  const ofOthers = errorBody(isComplete ? 'IDEMPOTENCY_KEY_SETTLED' : 'OUTCOME_UNKNOWN');
  return outcomes[0] ? { data: Object.fromEntries(outcomes), extensions: ofOthers } : ofOthers;
}
