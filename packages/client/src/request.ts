import { type Intent, withHeaders } from './intent.ts';
import { isObject, parseJson, textOf } from './response.ts';

/** A header that is not sent. It has the value `query` or `mutation`, for a request that names its document by a hash. */
export const OPERATION_TYPE = 'operation-type';

export type HeadedRequest = RequestInit & { readonly headers: Headers };

/** Whether a request certainly changes nothing. Any `POST` may be a mutation, even if it names its document by a hash. */
export function isQuery({
  method = 'GET',
  headers,
  body,
}: HeadedRequest): boolean | '' | undefined {
  const type = headers.get(OPERATION_TYPE);
  if (type) return type === 'query';
  if (method.toUpperCase() !== 'POST') return true;
  const { query } = Object(parseJson(`${body}`));
  return textOf(query) && !/\bmutation\b/.test(query);
}

/**
 * Adds an intent and its age to a request, in the headers and in the body. Proxies remove headers that they do not know, and
 * routers of federated graphs remove extensions.
 */
export function carry(init: RequestInit, intent: Intent, ageMs: number | undefined) {
  const { body } = init;
  const inBody = withExtensions(body, { idempotencyKey: intent, idempotencyKeyAge: ageMs });
  const headers = { 'idempotency-key': intent, 'idempotency-key-age': ageMs };
  return withHeaders({ ...init, body: inBody ?? body ?? null }, headers);
}

/** The key that the app has given to a request, in the header or in the body. */
export const keyOf = ({ headers, body }: HeadedRequest): string | undefined =>
  headers.get('idempotency-key') ??
  textOf(Object(Object(parseJson(textOf(body))).extensions).idempotencyKey);

/** Whether the body of a request can carry an intent. A stream or a form cannot. */
export const canCarry = ({ body }: RequestInit): boolean => withExtensions(body, {}) !== undefined;

/** Writes `extensions` into a JSON body, without another change of its text. Undefined for a body with which that is not possible. */
function withExtensions(body: unknown, own: object): string | undefined {
  const text = textOf(body);
  const parsed = parseJson(text);
  if (!isObject(parsed)) return undefined;
  if (!('extensions' in parsed)) {
    return text?.replace('{', () => `{"extensions":${JSON.stringify(own)},`);
  }
  // Otherwise, a number that is not exact in JavaScript would be changed.
  if (JSON.stringify(parsed) !== text) return undefined;
  return JSON.stringify({ ...parsed, extensions: { ...Object(parsed.extensions), ...own } });
}

/** Splits a request into its parts, with a body that can be sent more than once. */
export async function split(
  input: Parameters<typeof fetch>[0],
  init: RequestInit = {},
): Promise<[string | URL, HeadedRequest]> {
  if (!(input instanceof Request)) return [input, withHeaders(init, {})];
  const request = new Request(input, init);
  const { url, method, headers, credentials, signal } = request;
  const body = (await request.text()) || null;
  return [url, { method, headers, credentials, signal, body }];
}
