import { type Answer, errorBody, type GraphqlBody, isObject, lostBody } from './answer.ts';
import { attempt, defaults, type LedgerFetchOptions } from './attempts.ts';
import { throwIfAborted } from './deadline.ts';
import { endDoubleClick } from './double-click.ts';
import { ageOf, type Intent } from './intent.ts';
import { mayBeOf, sentFor } from './sent-intent.ts';
import { identify } from './token.ts';

/**
 * The document that `settle` sends, as the client preset of graphql-codegen writes it into a manifest. A gateway
 * with trusted documents needs it there.
 */
export const settleDocument = [
  'mutation SettleWrites($ageMs: Float, $idempotencyKey: String!) { __typename settleWrites(idempotencyKey: $idempotencyKey, ageMs: $ageMs) { __typename isComplete',
  'writes { __typename outcome { __typename ... on LedgerOutcomeUnknown { __typename code requestId } ... on LedgerProblem { __typename message }',
  '... on LedgerStatus { __typename invoiceId message } ... on LedgerUnrecognizedStatus { __typename status }',
  '... on WorkflowActionCompleted { __typename action } ... on WorkflowCsvUploaded { __typename invoiceId message unresolved } } responseName } } }',
].join(' ');

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
  const { attemptMs = defaults.attemptMs } = options;
  const caller = await identify({ headers }, options.token, attemptMs, signal);
  throwIfAborted(signal);
  const sent = sentFor(intent);
  const reason = !caller ? 'SIGN_IN_FAILED' : mayBeOf(sent, caller.user) ? undefined : 'OTHER_USER';
  if (!caller || reason) return lostBody(intent, reason) as SettledResult<Data>;
  const init = () => settleRequest(sent, attemptMs, headers);
  const attempts = { intent: sent, url, init, caller, isRepeat: false, mayRepeat: true };
  const { last } = await attempt({ ...attempts, attemptMs, signal }, options);
  endDoubleClick(sent);
  // The names of the fields and their types are those of the caller's mutation.
  return toResult(last, sent) as SettledResult<Data>;
}

function settleRequest(
  intent: Intent,
  delayMs: number,
  headers: SettleOptions['headers'],
): RequestInit {
  const settleHeaders = new Headers(headers);
  settleHeaders.set('content-type', 'application/json');
  settleHeaders.set('accept', 'application/graphql-response+json, application/json;q=0.9');
  const variables = { idempotencyKey: intent, ageMs: ageOf(intent, delayMs) };
  return {
    method: 'POST',
    headers: settleHeaders,
    body: JSON.stringify({ query: settleDocument, variables, operationName: 'SettleWrites' }),
  };
}

function toResult({ body, code }: Answer, intent: Intent): GraphqlBody {
  const settled = body?.data?.settleWrites;
  if (!isObject(settled) || !Array.isArray(settled.writes)) {
    return lostBody(intent, code);
  }
  const isComplete = settled.isComplete === true;
  const writes = settled.writes.filter(isObject);
  const data = Object.fromEntries(writes.map((write) => [write.responseName, write.outcome]));
  if (writes.length > 0) return { data, extensions: { isComplete } };
  return isComplete
    ? errorBody('IDEMPOTENCY_KEY_SETTLED', 'This was not executed, and never will be.')
    : errorBody('OUTCOME_UNKNOWN', 'Nobody can know whether this took effect.');
}
