import type { IncomingMessage, ServerResponse } from 'node:http';
import { GraphQLError } from 'graphql';

/** The context of each GraphQL operation: `context: async ({ req, res }) => ({ req, res })` of Apollo Server. */
export type Context = { req: Pick<IncomingMessage, 'headers'>; res: ServerResponse };

/** The caller's token, the request id, the trace, and the client's key with its age. */
const fromClient = [
  'authorization',
  'x-request-id',
  'traceparent',
  'tracestate',
  'idempotency-key',
  'idempotency-key-age',
];
/** Tells the client that the outcome is that of an earlier request, or that there is none yet. */
const toClient = ['idempotent-replayed', 'idempotent-in-progress'];

/** The parts of requests and responses of `@apollo/gateway` that this file uses. */
type Headers = { get(name: string): string | null; set(name: string, value: string): unknown };
type WithHeaders = { http?: { headers: Headers } | undefined };
type ErrorResponse = { status: number; statusText: string; json(): Promise<unknown> };
type Body = { errors: [{ message: string; extensions: Record<string, unknown> }] };

/**
 * The options of a `RemoteGraphQLDataSource` for the ledger subgraph:
 * `new RemoteGraphQLDataSource({ url, ...ledgerDataSource })`. See docs/how-to/federation.md.
 */
export const ledgerDataSource = {
  willSendRequest({ request, context }: { request: WithHeaders; context: Partial<Context> }) {
    for (const name of fromClient) {
      const value = context.req?.headers[name];
      if (typeof value === 'string') request.http?.headers.set(name, value);
    }
  },

  didReceiveResponse<Response extends WithHeaders>(received: {
    response: Response;
    context: Partial<Context>;
  }): Response {
    const { response, context } = received;
    for (const name of toClient) {
      const value = response.http?.headers.get(name);
      if (value) context.res?.setHeader(name, value);
    }
    return response;
  },

  /**
   * Passes on the error of a response that is not 200, such as the 503 of `AUTH_UNAVAILABLE`. By default it becomes
   * `INTERNAL_SERVER_ERROR`, and the client can see neither the code nor the request id.
   */
  async errorFromResponse(response: ErrorResponse): Promise<GraphQLError> {
    const body = await response.json().catch(() => undefined);
    if (isBody(body)) {
      const [{ message, extensions }] = body.errors;
      return new GraphQLError(message, { extensions });
    }
    return new GraphQLError(`The subgraph ledger responded ${response.status}.`);
  },
};

function isBody(body: unknown): body is Body {
  const { errors } = Object(body);
  return Array.isArray(errors) && typeof errors[0]?.extensions?.code === 'string';
}
