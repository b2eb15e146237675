import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** A request id of the client's; any other is replaced. */
const requestIdPattern = /^[\w.:-]{1,128}$/;

/** The request id that the client gave, or a new one. */
export function requestIdOf({ 'x-request-id': given }: IncomingHttpHeaders): string {
  return typeof given === 'string' && requestIdPattern.test(given) ? given : randomUUID();
}
