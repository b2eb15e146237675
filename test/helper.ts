import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
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

export type Reply = (response: ServerResponse, received: Received) => void | Promise<void>;

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

/** A reply with a status, and a body and headers where they matter. */
export function reply(status: number, body = '', headers: Record<string, string> = {}): Reply {
  return (response) => {
    response.writeHead(status, headers).end(body);
  };
}

/** A TCP server of the test's own on a free port: whoever connects meets `onConnection`. */
export async function startTcp(onConnection: (socket: Socket) => void) {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {}); // The other side may reset; the test looks at what comes of it.
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server.address());
  closeAfterTest(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}/`, httpsUrl: `https://127.0.0.1:${port}/`, sockets };
}

/** A port of this machine that nobody listens on. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/** Sends bytes as they are to an HTTP server, and reads all that it answers until it hangs up. */
export async function exchange(url: string, request: string): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  closeAfterTest(async () => socket.destroy());
  socket.write(request.replaceAll(/\r?\n/g, '\r\n'));
  return text(socket);
}

/** What a write may come to, asked of any of the unions. */
export const outcomeFields =
  '__typename ... on LedgerStatus { invoiceId text: message } ... on LedgerProblem { message } ... on LedgerOutcomeUnknown { code } ... on LedgerUnrecognizedStatus { status }';

/** The operations of section 4.4 and what the schema calls them. */
export const actions = {
  restartWorkflowAndMoveToNext: 'RESTART_AND_MOVE_TO_NEXT',
  reStoreGlobalSolution: 'RESTORE_GLOBAL_SOLUTION',
  reStoreSolution: 'RESTORE_SOLUTION',
  restartWorkflow2: 'RESTART',
  updateSolutionGuide: 'UPDATE_SOLUTION_GUIDE',
  upgradeToHQ: 'UPGRADE_TO_HQ',
};

/** The root field that asks for each write. */
export const writes: Record<string, string> = {
  saveApproverList: `saveApprovers(approvers: [{ name: "Ada" }]) { ${outcomeFields} }`,
  updateWorkflowCSV: `uploadWorkflowCsv(input: { fileName: "a.csv", csv: "a" }) { ${outcomeFields} ... on WorkflowCsvUploaded { unresolved } }`,
  ...Object.fromEntries(
    Object.entries(actions).map(([operation, action]) => [
      operation,
      `workflowAction(action: ${action}) { ${outcomeFields} }`,
    ]),
  ),
};

/** A write of the lightest kind, under the name `result`. */
export const write = `mutation { result: ${writes.upgradeToHQ} }`;

/** A read of the lightest kind, under the name `result`. */
export const read =
  '{ result: glCodes(target: EMAIL, project: "north") { __typename ... on GlCodeList { codes { code } } } }';

const answerSchema = z.object({
  data: z.any().optional(),
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
  const logged = new EventEmitter();
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
          logged.emit('line');
        },
      },
    ),
    // The whole suite runs on both executors: 1 compiles every query, Infinity none.
    process.env.COMPILE_AT === undefined ? undefined : Number(process.env.COMPILE_AT),
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
    /** The first log line with these properties, as soon as there is one. */
    async logLine(wanted: LogLine): Promise<LogLine> {
      for (;;) {
        const found = logs.find((line) =>
          Object.entries(wanted).every(([key, value]) => line[key] === value),
        );
        if (found) return found;
        await once(logged, 'line');
      }
    },
    /** Posts a body as it is, with a valid token unless the headers say otherwise. */
    post,
    /** Posts an operation and reads its answer. */
    async graphql(
      query: string,
      variables?: Record<string, unknown>,
      headers?: Record<string, string>,
    ) {
      for (;;) {
        const response = await post({ query, variables }, headers);
        const answer = answerSchema.parse(JSON.parse(response.text));
        // A machine that is busy elsewhere makes the gateway shed load, before it does anything.
        if (answer.errors?.[0]?.extensions.code !== 'OVERLOADED') return { ...response, ...answer };
        await sleep(250);
      }
    },
  };
}
