import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { printable } from '../lib/short-text.ts';

/**
 * Who sent a request, for its log line: the caller of a verified token and the application that it was issued to, the
 * name and version that the client gives itself, and where a request without a valid token came from. Except for the first
 * two, anybody can write these values. They are bounded, and never labels of a metric.
 */
export function senderOf({ record, headers, raw }: FastifyRequest, status: number) {
  const header = (...names: string[]) => textOf(headers, names);
  const isRejected = status === 401 || record.rejection !== undefined;
  return {
    caller: record.caller?.hash,
    azp: record.caller?.application,
    client: header('apollographql-client-name', 'graphql-client-name'),
    clientVersion: header('apollographql-client-version', 'graphql-client-version'),
    ...(isRejected && {
      ...record.token,
      address: raw.socket.remoteAddress,
      forwardedFor: header('x-forwarded-for'),
    }),
  };
}

/** The first of these headers that a request has. */
function textOf(headers: IncomingHttpHeaders, names: string[]): string | undefined {
  const value = names.map((name) => headers[name]).find((value) => value !== undefined);
  return value === undefined ? undefined : printable(String(value));
}
