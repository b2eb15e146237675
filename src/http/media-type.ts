import type { IncomingHttpHeaders } from 'node:http';
import Negotiator from 'negotiator';

export const JSON_TYPE = 'application/json; charset=utf-8';
const GRAPHQL_RESPONSE_TYPE = 'application/graphql-response+json; charset=utf-8';

const mediaTypes = [JSON_TYPE, GRAPHQL_RESPONSE_TYPE];

/** A longer `Accept` header, in characters, is not parsed: that takes time for each character, and none is as long. */
const MAX_ACCEPT_LENGTH = 500;

/** Whether the `Accept` header allows one of the media types of a response. */
export function acceptsResponse({ accept }: IncomingHttpHeaders): boolean {
  return !accept || preferredType(accept) !== undefined;
}

/**
 * The media type of a response with a result or errors. Clients read GraphQL errors from a response that is not 2xx
 * only if it has the type of GraphQL.
 */
export function responseType({ accept }: IncomingHttpHeaders) {
  const isGraphql = accept && preferredType(accept) === GRAPHQL_RESPONSE_TYPE;
  return isGraphql ? GRAPHQL_RESPONSE_TYPE : JSON_TYPE;
}

/** The latest header with its type: most clients send the same one, and parsing it takes several µs. */
let latest: { accept: string; type: string | undefined } | undefined;

function preferredType(accept: string): string | undefined {
  if (accept.length > MAX_ACCEPT_LENGTH) return undefined;
  if (latest?.accept !== accept) {
    latest = { accept, type: new Negotiator({ headers: { accept } }).mediaType(mediaTypes) };
  }
  return latest.type;
}
