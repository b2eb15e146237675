import { withHeaders } from './intent.ts';
import { parseJson, textOf } from './response.ts';

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
