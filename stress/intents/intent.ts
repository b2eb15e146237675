import { z } from 'zod';
import { post } from '../client.ts';
import type { Harness } from '../harness.ts';

/** One mutation that a client wants to take effect at most once. */
export type Intent = {
  /** The part of the request by which the service recognizes the intent. */
  id: string;
  token: string;
  query: string;
  variables: { id: string };
};

const problem = `
  ... on LedgerStatus { invoiceId message }
  ... on LedgerOutcomeUnknown { code requestId }`;
const approvers = `mutation ($id: String!) {
  result: saveApprovers(approvers: [{ name: $id }]) { __typename ${problem} } }`;
const csv = `mutation ($id: String!) {
  result: uploadWorkflowCsv(input: { fileName: $id, csv: "a,b" }) {
    __typename ... on WorkflowCsvUploaded { unresolved } ${problem} } }`;
const action = `mutation {
  result: workflowAction(action: RESTART) { __typename ${problem} } }`;

/** Creates intents of all kinds. An action has a subject of its own, since its request carries nothing else. */
export async function createIntents(
  { issuer }: Harness,
  prefix: string,
  count: number,
): Promise<Intent[]> {
  const shared = await issuer.token({ sub: prefix });
  return Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const id = `${prefix}-${n}`;
      const variables = { id };
      if (n % 5 === 0)
        return { id, token: await issuer.token({ sub: id }), query: action, variables };
      return { id, token: shared, query: n % 2 === 0 ? csv : approvers, variables };
    }),
  );
}

/** The outcome of a mutation in a response: a union member with its fields. */
const memberSchema = z.looseObject({
  __typename: z.string(),
  message: z.string().nullish(),
  unresolved: z.string().nullish(),
  code: z.string().optional(),
  requestId: z.string().optional(),
});
export type Member = z.infer<typeof memberSchema>;

/** What a client learns from a response. */
export type Told =
  | { kind: 'member'; member: Member }
  /** The intent had no effect, and repeating the request does not help. */
  | { kind: 'refused'; code: string }
  /** The client has to repeat its request: a code, or how the connection failed. */
  | { kind: 'repeat'; reason: string };

const responseSchema = z.object({
  data: z.object({ result: memberSchema.nullish() }).nullish(),
  errors: z
    .array(z.object({ extensions: z.object({ code: z.string(), retryable: z.boolean() }) }))
    .optional(),
});

/** Sends the mutation of an intent once, on a connection of its own. */
export async function send(
  url: string,
  { id, token, query, variables }: Intent,
  options: { isKeyed: boolean; timeoutMs: number; ageMs?: number },
): Promise<Told> {
  const { status, body } = await post(url, token, query, {
    variables,
    idempotencyKey: options.isKeyed ? `key-${id}` : undefined,
    ageMs: options.ageMs,
    signal: AbortSignal.timeout(options.timeoutMs),
  });
  const response = parse(body);
  const error = response?.errors?.[0]?.extensions;
  if (error?.retryable) return { kind: 'repeat', reason: error.code };
  if (error) return { kind: 'refused', code: error.code };
  const member = response?.data?.result;
  if (!member) return { kind: 'repeat', reason: status === 0 ? 'no response' : `HTTP ${status}` };
  const isInProgress =
    member.__typename === 'LedgerOutcomeUnknown' && member.code === 'IN_PROGRESS';
  return isInProgress ? { kind: 'repeat', reason: 'IN_PROGRESS' } : { kind: 'member', member };
}

function parse(body: string): z.infer<typeof responseSchema> | undefined {
  try {
    return responseSchema.parse(JSON.parse(body));
  } catch {
    return undefined; // A response of HAProxy, or none.
  }
}

const settleQuery = `mutation ($key: String!, $ageMs: Float) {
  result: settleWrites(idempotencyKey: $key, ageMs: $ageMs) {
    isComplete
    writes { outcome { __typename ${problem} ... on WorkflowCsvUploaded { unresolved } } }
  } }`;

const settledSchema = z.object({
  data: z.object({
    result: z.object({
      isComplete: z.boolean(),
      writes: z.array(z.object({ outcome: memberSchema })),
    }),
  }),
});

/** What `settleWrites` says about an intent: its outcome, if there is one. */
export type Settled = { isComplete: boolean; member: Member | undefined };

/** Settles an intent. A text says why there is no definite answer. */
export async function settleIntent(
  url: string,
  { id, token }: Intent,
  ageMs: number,
  timeoutMs: number,
): Promise<Settled | string> {
  const { status, body } = await post(url, token, settleQuery, {
    variables: { key: `key-${id}`, ageMs: Math.round(ageMs) },
    signal: AbortSignal.timeout(timeoutMs),
  });
  const { data } = settledSchema.safeParse(status === 200 ? JSON.parse(body) : null);
  if (data === undefined) {
    const code = parse(body)?.errors?.[0]?.extensions.code;
    return code ?? (status === 0 ? 'no response' : `HTTP ${status}`);
  }
  const { isComplete, writes } = data.data.result;
  const member = writes[0]?.outcome;
  return member?.code === 'IN_PROGRESS' ? 'IN_PROGRESS' : { isComplete, member };
}
