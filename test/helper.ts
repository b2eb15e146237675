import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach } from '@jest/globals';
import { pino } from 'pino';
import { z } from 'zod';
import { type Issuer, startIssuer } from '../dev/issuer.ts';
import { readConfig } from '../src/config.ts';
import { type Gateway, startGateway } from '../src/gateway.ts';

/** A request as the service received it, byte by byte. */
export type Received = {
  method: string;
  /** Path and query. */
  url: string;
  headers: IncomingMessage['headers'];
  rawHeaders: string[];
  body: string;
};

type Reply = (response: ServerResponse, received: Received) => void | Promise<void>;

const closers: Array<() => Promise<unknown>> = [];

/** Closes something at the end of the test, last opened first. */
export function closeAfterTest(close: () => Promise<unknown>): void {
  closers.unshift(close);
}

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

let issuer: Promise<Issuer> | undefined;

/** The issuer of a test file's tokens. */
export function testIssuer(): Promise<Issuer> {
  issuer ??= startIssuer();
  return issuer;
}

afterAll(async () => {
  await (await issuer)?.close();
  issuer = undefined;
});

/** A service of the test's own on a free port: what it received, and what it replies. */
export async function startService(reply: Reply) {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const it: Received = {
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      rawHeaders: request.rawHeaders,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    received.push(it);
    await reply(response, it);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closeAfterTest(async () => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${portOf(server.address())}/`, received, server };
}

/** The port of a listening server. */
export function portOf(address: AddressInfo | string | null): number {
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

/** A reply of JSON text with status 200. */
export function json(value: unknown): Reply {
  return (response) => {
    response.setHeader('content-type', 'application/json');
    response.end(typeof value === 'string' ? value : JSON.stringify(value));
  };
}

const answerSchema = z.object({
  data: z.any(),
  errors: z
    .array(
      z.object({
        message: z.string(),
        path: z.array(z.union([z.string(), z.number()])).optional(),
        extensions: z.looseObject({
          code: z.string(),
          requestId: z.string(),
          retryable: z.boolean(),
        }),
      }),
    )
    .optional(),
});

export type LogLine = Record<string, unknown>;

/** The real gateway in front of a service, configured by variables as in production. */
export async function startTestGateway(
  service: { url: string },
  variables: Record<string, string> = {},
) {
  const { jwksUrl, issuer: iss, audience, token } = await testIssuer();
  const logs: LogLine[] = [];
  let raw = '';
  const config = readConfig({
    HOST: '127.0.0.1',
    PORT: '0',
    UPSTREAM_BASE_URL: service.url,
    JWT_JWKS_URL: jwksUrl,
    JWT_ISSUER: iss,
    JWT_AUDIENCE: audience,
    LOG_LEVEL: 'trace',
    ...variables,
  });
  const gateway: Gateway = await startGateway(
    config,
    pino(
      { level: config.logLevel, base: null },
      {
        write(line: string) {
          raw += line;
          logs.push(z.looseObject({}).parse(JSON.parse(line)));
        },
      },
    ),
  );
  let closed: Promise<void> | undefined;
  const close = () => {
    closed ??= gateway.close();
    return closed;
  };
  closeAfterTest(close);
  const bearer = await token();

  async function post(body: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(`${gateway.url}/graphql`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${bearer}`,
        ...headers,
      },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text };
  }

  return {
    url: gateway.url,
    close,
    token: bearer,
    logs,
    /** All that was logged, as it was written. */
    logText: () => raw,
    /** Posts a body as it is, with a valid token unless the headers say otherwise. */
    post,
    /** Posts an operation and reads its answer. */
    async graphql(
      query: string,
      variables?: Record<string, unknown>,
      headers?: Record<string, string>,
    ) {
      const response = await post({ query, variables }, headers);
      return { ...response, ...answerSchema.parse(JSON.parse(response.text)) };
    },
  };
}
