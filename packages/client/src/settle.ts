import { codeOf, errorBody, type GraphqlBody, lostBody } from './answer.ts';
import { attempt, type LedgerFetchOptions } from './attempts.ts';
import { throwIfAborted } from './deadline.ts';
import { type Intent, withHeaders } from './intent.ts';
import { note, recall } from './known-intent.ts';
import { settleDocument } from './settle-document.ts';

/** What `settle` of 1.0.0 sends, which every gateway since then knows. It does not change. */
const firstDocument =
  'mutation SettleWrites($ageMs: Float, $idempotencyKey: String!) { __typename settleWrites(idempotencyKey: $idempotencyKey, ageMs: $ageMs) { __typename isComplete writes { __typename outcome { __typename ... on LedgerOutcomeUnknown { __typename code requestId } ... on LedgerProblem { __typename message } ... on LedgerStatus { __typename invoiceId message } ... on LedgerUnrecognizedStatus { __typename status } ... on WorkflowActionCompleted { __typename action } ... on WorkflowCsvUploaded { __typename invoiceId message unresolved } } responseName } } }';

export type SettleOptions = LedgerFetchOptions & {
  readonly url: string | URL;
  readonly headers?: RequestInit['headers'] | undefined;
  readonly signal?: AbortSignal | null | undefined;
};

/** A GraphQL result, which `readField` reads. */
export type SettledResult<Data extends object> = Omit<GraphqlBody, 'data'> & {
  readonly data?: Partial<Data> | null;
};

/**
 * Asks what became of an intent, without sending it again, and makes sure that nothing of it is executed later.
 * The result is that of the mutation: the outcomes by response name, with all of their fields, or one error:
 *
 * - `IDEMPOTENCY_KEY_SETTLED`: nothing was executed, and never will be
 * - `OUTCOME_UNKNOWN`: the gateway has no record, and may have lost it
 * - `RESPONSE_LOST`: the gateway cannot tell at the moment; ask again
 *
 * An intent of another user is `RESPONSE_LOST`: nothing is asked, and its owner can still ask. Rejects only if
 * `signal` aborts.
 */
export async function settle<Data extends object = Record<string, unknown>>(
  intent: Intent,
  { url, headers = {}, signal, ...options }: SettleOptions,
): Promise<SettledResult<Data>> {
  const { sentAs } = recall(intent);
  const known = recall(sentAs);
  const ask = (query: string) => {
    const init = (ageMs?: number) => ({
      ...withHeaders({ headers }, { 'content-type': 'application/json' }),
      method: 'POST',
      body: JSON.stringify({ query, variables: { idempotencyKey: sentAs, ageMs } }),
    });
    const attempts = { intent: sentAs, url, init, isOpen: true, mayRepeat: true, stop: signal };
    return attempt(attempts, options);
  };
  let { last } = await ask(settleDocument);
  // A gateway, or its manifest, that is older than this package may not know a field.
  if (/VALIDATION|SAFELIST/.test(`${codeOf(last.body)}`)) ({ last } = await ask(firstDocument));
  throwIfAborted(signal);
  // The next click is a new decision.
  if (known.endedAt) known.joinId = undefined;
  const result = toResult(last.body, sentAs);
  const isKnown = last.state === 'final' && !/LOST|UNKNOWN/.test(`${codeOf(result)}`);
  if (isKnown && known.request) note(sentAs, { isOpen: false });
  // The names of the fields and their types are those of the caller's mutation.
  return result as SettledResult<Data>;
}

function toResult(body: GraphqlBody, intent: Intent): GraphqlBody {
  const { isComplete, writes } = Object(body.data?.settleWrites);
  if (!Array.isArray(writes)) return lostBody(intent, codeOf(body));
  const outcomes = writes.map(({ responseName, outcome }) => [responseName, outcome]);
  if (outcomes.length > 0)
    return { data: Object.fromEntries(outcomes), extensions: { isComplete } };
  return errorBody(isComplete ? 'IDEMPOTENCY_KEY_SETTLED' : 'OUTCOME_UNKNOWN');
}
