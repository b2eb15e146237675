import Fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import { createLocalJWKSet, decodeJwt, type JSONWebKeySet, type JWTPayload, jwtVerify } from 'jose';
import { z } from 'zod';
import { writeJson } from '../src/lib/json.ts';
import { parseBody } from '../src/upstream/responses.ts';
import { UpstreamError } from '../src/upstream/upstream-error.ts';
import { type Approver, createOperations, InvalidRequest, type Operation } from './operations.ts';
import { respond, scenarioName } from './scenarios.ts';

export { type ScenarioName, scenarios } from './scenarios.ts';

export type ReferenceServiceOptions = {
  /** The keys that verify tokens. Without keys, any well-formed JWT is accepted. */
  readonly issuerKeys?: JSONWebKeySet;
  /** 0, the default, selects any free port. */
  readonly port?: number;
  /** The delay of the scenario `slow`, in milliseconds. */
  readonly slowMs?: number;
};

export type ReferenceService = Awaited<ReturnType<typeof startReferenceService>>;

const claimsSchema = z.object({ scenario: scenarioName.optional() });

/**
 * Starts a strict reference implementation of the REST service: its operations, and nothing else. A
 * refused request gets a status code without a body (docs/reference/service-api.md, section 7).
 */
export async function startReferenceService(options: ReferenceServiceOptions = {}) {
  const { port = 0, slowMs = 30_000 } = options;
  const verify = createVerifier(options.issuerKeys);
  const saved: Approver[] = [];
  const operations = createOperations(saved);

  const app = Fastify({
    bodyLimit: 32 * 1024 * 1024,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
  });

  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    /^(application\/json|text\/json|application\/[^\s;]+\+json)\s*(;|$)/i,
    { parseAs: 'buffer' },
    async (_request: FastifyRequest, body: Buffer) => parseBody(body),
  );

  // A hook, because path, method and token are checked before the body is read.
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
    const isInvalid = error instanceof InvalidRequest || error instanceof UpstreamError;
    reply.code(isInvalid ? 400 : (error.statusCode ?? 500)).send();
  });

  for (const [url, operation] of operations) {
    app.route({
      method: operation.method,
      url,
      handler: (request, reply) => handle(operation, request, reply, slowMs),
    });
  }

  const address = await app.listen({ port, host: '127.0.0.1' });
  return {
    /** The base URL; ends with a slash. */
    url: `${address}/`,
    /** All saved approvers in order of arrival. One that was saved twice is listed twice. */
    approvers: (): readonly Approver[] => [...saved],
    /** Also closes open connections, including those that wait for a slow response. */
    close: () => app.close(),
  };
}

/** Performs an operation, or what the scenario requires instead. */
function handle(
  operation: Operation,
  request: FastifyRequest,
  reply: FastifyReply,
  slowMs: number,
): void {
  if (operation.method === 'GET' && hasBody(request)) {
    reply.code(400).send();
    return;
  }
  const task = operation.parse(request);
  const claims = request.getDecorator<JWTPayload>('claims');
  const scenario = task.scenario ?? claimsSchema.parse(claims).scenario;
  respond(scenario, {
    reply,
    slowMs,
    perform: () => writeJson(task.perform()),
    refuse: (record) => writeJson(operation.refusal(record)),
  });
}

function hasBody({ headers }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? 0) > 0 || headers['transfer-encoding'] !== undefined;
}

/** Returns a function that verifies an Authorization header (docs/reference/service-api.md, section 5), and resolves to undefined if it is invalid. */
function createVerifier(keys: JSONWebKeySet | undefined) {
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
