import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { closeAfterTest } from '../testkit/cleanup.ts';

/** A response of the gateway. */
export type GatewayResponse = {
  /** 0 if the connection failed before the response was complete. */
  status: number;
  body: string;
  ms: number;
};

/** Sends a GET, on its own connection. */
export function get(url: string): Promise<GatewayResponse> {
  return send(url, { method: 'GET', agent: false }, undefined);
}

/** An agent that keeps connections open, until the end of the scenario. */
export function keepAliveAgent(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 4000, maxFreeSockets: 4000 });
  closeAfterTest(() => agent.destroy());
  return agent;
}

/** Posts a GraphQL operation, on its own connection unless an agent is given. */
export function post(
  url: string,
  token: string,
  query: string,
  options: {
    agent?: Agent | undefined;
    signal?: AbortSignal;
    idempotencyKey?: string | undefined;
    /** The age of the key in milliseconds. */
    ageMs?: number | undefined;
    variables?: object;
  } = {},
): Promise<GatewayResponse> {
  const { agent, signal, idempotencyKey, ageMs, variables } = options;
  const headers = {
    'content-type': 'application/json',
    authorization: `Bearer ${token}`,
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ageMs !== undefined && { 'idempotency-key-age': String(Math.round(ageMs)) }),
  };
  return send(
    `${url}/graphql`,
    { method: 'POST', agent: agent ?? false, headers, ...(signal && { signal }) },
    JSON.stringify({ query, variables }),
  );
}

function send(
  url: string,
  options: Parameters<typeof request>[1],
  body: string | undefined,
): Promise<GatewayResponse> {
  const start = performance.now();
  return new Promise((resolve) => {
    const end = (status: number, body: string) =>
      resolve({ status, body, ms: performance.now() - start });
    const sent = request(url, options, (response) => {
      text(response).then(
        (body) => end(response.statusCode ?? 0, body),
        () => end(0, ''),
      );
    });
    sent.once('error', () => end(0, ''));
    sent.end(body);
  });
}

const graphql = z.object({
  data: z.looseObject({ result: z.looseObject({ __typename: z.string() }).nullish() }).nullish(),
  errors: z.array(z.object({ extensions: z.object({ code: z.string() }) })).optional(),
});

/** The outcome in a response: the union member of the field `result`, or the code of its error. */
export function outcomeOf({ status, body }: GatewayResponse): string {
  if (status === 0) return 'no response';
  try {
    const { data, errors } = graphql.parse(JSON.parse(body));
    return errors?.[0]?.extensions.code ?? data?.result?.__typename ?? 'nothing';
  } catch {
    return `HTTP ${status}`;
  }
}

export function isSuccess(outcome: string): boolean {
  return ['GlCodeList', 'ApproversSaved'].includes(outcome);
}

/** A query for the codes of a project. */
export const readQuery = (project: string) =>
  `{ result: glCodes(target: EMAIL, project: "${project}") { __typename ... on GlCodeList { codes { code } } } }`;

/** A mutation with an id that the service counts in `seen`. */
export const writeMutation = (id: string) =>
  `mutation { result: saveApprovers(approvers: [{ description: "${id}" }]) { __typename ... on LedgerOutcomeUnknown { code } } }`;
