import type { IncomingHttpHeaders } from 'node:http';
import Negotiator from 'negotiator';

/** The media types that Apollo Server responds with. It checks them only after the execution. */
const mediaTypes = [
  'application/json; charset=utf-8',
  'application/graphql-response+json; charset=utf-8',
  'application/json; callbackSpec=1.0; charset=utf-8',
];

/** Whether the `Accept` header allows one of the media types of a response. */
export function acceptsResponse({ accept }: IncomingHttpHeaders): boolean {
  if (!accept) return true;
  return new Negotiator({ headers: { accept } }).mediaType(mediaTypes) !== undefined;
}
