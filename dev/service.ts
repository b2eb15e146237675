import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { ZodError, z } from 'zod';
import { codesByProject, invoiceIds } from './sample-data.ts';

/** What a caller can ask for, by a token's claim `scenario` or a project named `scenario:<name>`. */
export const scenarios = [
  { name: 'failed', says: 'Refused with status 1 (FAILED); nothing is done.' },
  { name: 'no-more-invoices', says: 'Answered with status 2 (NO_MORE_INVOICES); nothing is done.' },
  { name: 'not-permitted', says: 'Refused with status 3 (NOT_PERMITTED); nothing is done.' },
  {
    name: 'unrecognized',
    says: 'Answered with status 7, which is not specified; nothing is done.',
  },
  { name: 'http-400', says: 'HTTP 400 without a body; nothing is done.' },
  { name: 'http-401', says: 'HTTP 401 to a token that verified; nothing is done.' },
  { name: 'http-403', says: 'HTTP 403 without a body; nothing is done.' },
  { name: 'http-500', says: 'HTTP 500 without a body; nothing is done.' },
  { name: 'http-503', says: 'HTTP 503 without a body; nothing is done.' },
  { name: 'slow', says: 'The work is done at once, and the answer comes late.' },
  { name: 'reset', says: 'The work is done, and the connection is reset before any answer.' },
  { name: 'cut-off', says: 'The work is done, and the connection ends amid the answer.' },
  { name: 'not-json', says: 'The work is done, and the answer is 200 with text that is no JSON.' },
] as const;

export type ScenarioName = (typeof scenarios)[number]['name'];

/** Reads the name of a scenario that came from outside. */
export const scenarioName = z.enum(scenarios.map(({ name }) => name));

export interface ReferenceServiceOptions {
  /** The keys that tokens are verified with. Without them a token need only be a well-formed JWT. */
  readonly issuerKeys?: JSONWebKeySet;
  /** 0, the default, takes any free port. */
  readonly port?: number;
  readonly host?: string;
  /** How late the scenario `slow` answers. */
  readonly slowMs?: number;
}

export interface ReferenceService {
  /** The base URL; ends with a slash. */
  readonly url: string;
  /** Every approver saved so far, in order of arrival: one saved twice is here twice. */
  approvers(): readonly Approver[];
  /** Ends open connections too, slow answers among them. */
  close(): Promise<void>;
}

/**
 * Starts a strict reference of the REST service: all nine operations of section 4, and nothing that
 * the specification does not show. What is refused gets a status code without a body (section 7).
 */
export async function startReferenceService(
  options: ReferenceServiceOptions = {},
): Promise<ReferenceService> {
  const { port = 0, host = '127.0.0.1', slowMs = 30_000 } = options;
  const verify = verifier(options.issuerKeys);
  const saved: Approver[] = [];
  const operations = operationsOn(saved);

  const app = Fastify({
    bodyLimit: 32 * 1024 * 1024,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^(application\/json|text\/json|application\/[^\s;]+\+json)\s*(;|$)/i,
    { parseAs: 'string' },
    async (_request: FastifyRequest, text: string) => parseExactly(text),
  );

  // In a hook, because path, method and token come before the body is even read.
  app.decorateRequest('claims', null);
  app.addHook('onRequest', async (request, reply) => {
    if (request.is404) {
      const known = operations.get(request.url.split('?', 1)[0] ?? '');
      return known ? reply.code(405).header('allow', known.method).send() : reply.code(404).send();
    }
    const claims = await verify(request.headers.authorization);
    if (!claims) return reply.code(401).header('www-authenticate', 'Bearer').send();
    request.setDecorator('claims', claims);
  });
  app.setNotFoundHandler(async (_request, reply) => reply.code(404).send());

  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const malformed = error instanceof ZodError || error instanceof SyntaxError;
    reply.code(malformed ? 400 : (error.statusCode ?? 500)).send();
  });

  for (const [url, operation] of operations) {
    app.route({
      method: operation.method,
      url,
      handler(request, reply) {
        if (operation.method === 'GET' && hasBody(request)) return reply.code(400).send();
        const job = operation.read(request);
        const claims = z.object({ scenario: scenarioName.optional() });
        const scenario =
          job.scenario ?? claims.parse(request.getDecorator<JWTPayload>('claims')).scenario;
        const exchange: Exchange = {
          reply,
          slowMs,
          contentType: negotiate(operation.offers, request.headers.accept),
          perform: () => stringifyExactly(job.perform()),
          refuse: (record) => stringifyExactly(operation.refusal(record)),
        };
        if (scenario) behaviours[scenario](exchange);
        else answer(exchange, exchange.perform());
      },
    });
  }

  const address = await app.listen({ port, host });
  return { url: `${address}/`, approvers: () => [...saved], close: () => app.close() };
}

// The scenarios

interface Exchange {
  readonly reply: FastifyReply;
  readonly slowMs: number;
  readonly contentType: string;
  /** Does the work and returns the answer's text. */
  perform(): string;
  /** The text of an answer that carries this record instead of a success. */
  refuse(record: ServiceStatus): string;
}

const behaviours: Readonly<Record<ScenarioName, (exchange: Exchange) => void>> = {
  failed: withStatus(1, 'The operation could not be completed.'),
  'no-more-invoices': withStatus(2, 'There are no more invoices.'),
  'not-permitted': withStatus(3, 'You may not do this.'),
  unrecognized: withStatus(7, 'A status that the specification does not list.'),
  'http-400': withHttp(400),
  'http-401': withHttp(401),
  'http-403': withHttp(403),
  'http-500': withHttp(500),
  'http-503': withHttp(503),
  slow(exchange) {
    const text = exchange.perform();
    const timer = setTimeout(() => answer(exchange, text), exchange.slowMs);
    // The connection closes when the client goes away and when the service closes.
    exchange.reply.raw.once('close', () => clearTimeout(timer));
  },
  reset({ reply, perform }) {
    perform();
    reply.hijack();
    reply.request.raw.socket.resetAndDestroy();
  },
  'cut-off'({ reply, contentType, perform }) {
    const whole = Buffer.from(perform());
    const half = whole.subarray(0, whole.length / 2);
    reply.hijack();
    reply.raw.writeHead(200, { 'content-type': contentType, 'content-length': whole.length });
    reply.raw.write(half, () => reply.raw.destroy());
  },
  'not-json'({ reply, perform }) {
    perform();
    reply.type('text/plain').send('The service is being restarted. Please come back later.');
  },
};

function withStatus(status: number, message: string) {
  return (exchange: Exchange) =>
    answer(exchange, exchange.refuse({ invoice_id: 0n, message, status }));
}

function withHttp(code: number) {
  return ({ reply }: Exchange) => {
    reply.code(code).send();
  };
}

function answer({ reply, contentType }: Exchange, text: string): void {
  reply.type(contentType).send(text);
}

// The operations (section 4)

interface Operation {
  readonly method: 'GET' | 'POST';
  /** The content types of the answer, the preferred one first. */
  readonly offers: readonly [string, ...string[]];
  /** Checks the request and returns the work, not yet done. Throws a ZodError for a bad request. */
  read(request: FastifyRequest): Job;
  /** Puts a status record where an answer of this operation carries it. */
  refusal(record: ServiceStatus): unknown;
}

interface Job {
  readonly scenario?: ScenarioName;
  perform(): unknown;
}

/** Section 2.1. */
interface ServiceStatus {
  readonly invoice_id: bigint;
  readonly message: string;
  readonly status: number;
}

function operationsOn(saved: Approver[]): ReadonlyMap<string, Operation> {
  return new Map([
    ['/getGLCodes5', getGLCodes5],
    ['/saveApproverList', saveApproverList(saved)],
    ['/updateWorkflowCSV', updateWorkflowCSV],
    ['/restartWorkflowAndMoveToNext', action('restartWorkflowAndMoveToNext', 'Moved to next.')],
    ['/reStoreGlobalSolution', action('reStoreGlobalSolution', 'Global solution restored.')],
    ['/reStoreSolution', action('reStoreSolution', 'Solution restored.')],
    ['/restartWorkflow2', action('restartWorkflow2', 'Workflow restarted.')],
    ['/updateSolutionGuide', action('updateSolutionGuide', 'Solution guide updated.')],
    ['/upgradeToHQ', action('upgradeToHQ', 'Account upgraded.')],
  ]);
}

/** Section 4.1. */
const getGLCodes5: Operation = {
  method: 'GET',
  offers: ['application/json', 'text/plain', 'text/json'],
  read({ query }) {
    const { project, includeHide } = codesQuery.parse(query);
    const work = {
      perform: () => ({
        service_status: succeeded('getGLCodes5', ''),
        list: (codesByProject.get(project) ?? []).filter(
          ({ Hide }) => Hide === 0 || includeHide === 'true',
        ),
      }),
    };
    const prefix = 'scenario:';
    return project.startsWith(prefix)
      ? { ...work, scenario: scenarioName.parse(project.slice(prefix.length)) }
      : work;
  },
  refusal: (record) => ({ service_status: record, list: [] }),
};

/** Section 4.2. */
function saveApproverList(saved: Approver[]): Operation {
  return {
    method: 'POST',
    offers: ['application/json'],
    read({ query, body }) {
      noQuery.parse(query);
      const approvers = z.array(approver).parse(body);
      return {
        perform() {
          for (const approver of approvers) saved.push(approver);
          return succeeded('saveApproverList', `Approvers saved: ${approvers.length}.`);
        },
      };
    },
    refusal: (record) => record,
  };
}

/** Section 4.3. Refusals carry a status record, which the specification does not show here. */
const updateWorkflowCSV: Operation = {
  method: 'POST',
  offers: ['application/json'],
  read({ query, body }) {
    csvQuery.parse(query);
    const { PictureStream } = csvUpload.parse(body);
    return { perform: () => ({ unresolved: unresolvedRows(PictureStream ?? '') }) };
  },
  refusal: (record) => record,
};

/** Section 4.4. */
function action(name: keyof typeof invoiceIds, message: string): Operation {
  return {
    method: 'GET',
    offers: ['application/json'],
    read({ query }) {
      noQuery.parse(query);
      return { perform: () => succeeded(name, message) };
    },
    refusal: (record) => record,
  };
}

function succeeded(name: keyof typeof invoiceIds, message: string): ServiceStatus {
  return { invoice_id: invoiceIds[name], message, status: 0 };
}

/**
 * The rows whose second column is empty. That is this stand-in's own invention: the specification
 * does not say what makes a row unresolved. Quoted commas and line breaks are not understood.
 */
function unresolvedRows(base64: string): string {
  return Buffer.from(base64, 'base64')
    .toString('utf8')
    .split(/\r?\n/)
    .filter((row) => row.trim() !== '' && !row.split(',')[1]?.trim())
    .join('\n');
}

// What a request may hold (section 2). No field is shown as required, so each may be absent or null.

const integer = z.union([z.int(), z.bigint()]);

const approver = z.strictObject({
  approver_id: integer.nullish(),
  claim_limit: z.union([z.number(), z.bigint()]).nullish(),
  description: z.string().nullish(),
  email: z.string().nullish(),
  email_upload: z.string().nullish(),
  is_disable_approval: z.boolean().nullish(),
  is_expense_claim: z.boolean().nullish(),
  my_bank_account: z.string().nullish(),
  my_email: z.string().nullish(),
  name: z.string().nullish(),
  workflow_id: integer.nullish(),
  workflow_name: z.string().nullish(),
});

/** Section 2.4, as it travelled. An integer beyond 2^53 is a bigint. */
export type Approver = z.infer<typeof approver>;

const csvUpload = z.strictObject({
  PictureName: z.string().nullish(),
  // A round trip, since a regular expression may not hold out over 32 MiB.
  PictureStream: z
    .string()
    .refine((text) => Buffer.from(text, 'base64').toString('base64') === text)
    .nullish(),
  service_status: z
    .strictObject({ invoice_id: integer.nullish(), message: z.string().nullish() })
    .nullish(),
});

const codesQuery = z.strictObject({
  target: oneOf([[0, 12], [20, 24], [26, 27], [33, 51], 4001, -1]),
  project: z.string(),
  includeHide: z.enum(['true', 'false']),
});

// The specification does not give the parameter's name, so any one name will do.
const csvQuery = z
  .record(
    z.string(),
    oneOf([
      [1, 27],
      30,
      31,
      99,
      [101, 160],
      [208, 360],
      [369, 421],
      [423, 454],
      [461, 500],
      [-6, -1],
    ]),
  )
  .refine((query) => Object.keys(query).length <= 1);

const noQuery = z.strictObject({});

/** The decimal text of one of these integers; a pair is a range with both ends. */
function oneOf(allowed: readonly (number | readonly [number, number])[]) {
  const texts = allowed.flatMap((entry) => {
    const [first, last] = typeof entry === 'number' ? [entry, entry] : entry;
    return Array.from({ length: last - first + 1 }, (_, index) => String(first + index));
  });
  return z.enum(texts);
}

function hasBody({ headers }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}

/** The first of the caller's media types that is on offer, else the preferred one. */
function negotiate(offers: Operation['offers'], accept = ''): string {
  const wanted = accept.split(',').map((range) => range.split(';', 1)[0]?.trim().toLowerCase());
  return wanted.find((type) => type !== undefined && offers.includes(type)) ?? offers[0];
}

/** Section 5: the claims of a bearer token that holds, else undefined. */
function verifier(keys: JSONWebKeySet | undefined) {
  const keySet = keys && createLocalJWKSet(keys);
  return async (authorization = ''): Promise<JWTPayload | undefined> => {
    const token = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/.exec(authorization)?.[1];
    if (token === undefined) return undefined;
    try {
      return keySet ? (await jwtVerify(token, keySet)).payload : decodeJwt(token);
    } catch {
      return undefined;
    }
  };
}

// JSON without loss: identifiers are larger than a double holds.

/** What Node's JSON can do and TypeScript's library does not know yet. */
const exactJson = JSON as JSON & {
  parse(
    text: string,
    reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
  ): unknown;
  rawJSON(text: string): unknown;
};

function parseExactly(text: string): unknown {
  return exactJson.parse(text, (_key, value, { source = '' }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
      ? BigInt(source)
      : value,
  );
}

function stringifyExactly(value: unknown): string {
  return JSON.stringify(value, (_key, entry: unknown) =>
    typeof entry === 'bigint' ? exactJson.rawJSON(String(entry)) : entry,
  );
}
