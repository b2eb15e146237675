/** A GraphQL operation that is sent to every peer, and how. */
export type Workload = {
  readonly name: string;
  readonly title: string;
  /** Connections to the gateway. Each sends its next request when it has the response to the last one. */
  readonly connections: number;
  /** How many people send the requests. Each has a token of their own; their requests follow each other in turn. */
  readonly callers: number;
  /** Whether each request has a new `Idempotency-Key`. */
  readonly isKeyed?: boolean;
  /** Whether a peer may reject requests, because there are too many. */
  readonly mayReject?: boolean;
  /** Whether only our gateway has it. */
  readonly isOurs?: boolean;
  readonly query: string;
  /** The variables of the n-th request of a rotation. */
  readonly variables: (n: number) => Record<string, string>;
};

/** A job for the load process: a number of requests, all of which are awaited. */
export type Job = {
  workload: string;
  origin: string;
  /** The tokens of the callers. */
  tokens: readonly string[];
  connections: number;
  requests: number;
};

/** A POST of `/graphql`. */
export type HttpRequest = { headers: Record<string, string>; body: string };

/** The number of different requests that each connection sends in rotation, unless all have keys. */
const ROTATION = 16;

const codesQuery = `query Codes($target: IntegrationTarget!, $project: String!) {
  glCodes(target: $target, project: $project) {
    __typename ... on GlCodeList { codes { code name value hide } } ... on LedgerStatus { invoiceId message } ... on LedgerProblem { message }
  }
}`;

const searchQuery = `query Search($target: IntegrationTarget!, $project: String!, $search: String!) {
  glCodes(target: $target, project: $project, search: $search, first: 20) {
    ... on GlCodeList { totalCount codes { code name } } ... on LedgerProblem { message }
  }
}`;

/** What a user types, one more character with each request. The stub service has it in every name. */
const TYPED = 'accommodation 19';

const actionQuery = `mutation Act($action: WorkflowAction!) {
  workflowAction(action: $action) {
    __typename ... on WorkflowActionCompleted { action } ... on LedgerStatus { invoiceId message } ... on LedgerProblem { message }
  }
}`;

function codes(title: string, project: (n: number) => string) {
  const variables = (n: number) => ({ target: 'EMAIL', project: project(n) });
  return { title, connections: 64, callers: 1, query: codesQuery, variables } as const;
}

/** Reads of different lists of `count` codes. */
export function codesOf(count: number): Workload {
  const title = `${count.toLocaleString('en')} codes, different projects`;
  return { name: `codes-${count}`, ...codes(title, (n) => `codes-${count}-${n}`) };
}

const action: Workload = {
  name: 'workflow-action',
  title: 'workflowAction',
  connections: 64,
  callers: 1,
  query: actionQuery,
  variables: () => ({ action: 'RESTART' }),
};

export const workloads: readonly Workload[] = [
  { ...codesOf(20), name: 'codes-20-different' },
  { name: 'codes-20-equal', ...codes('20 codes, equal projects', () => 'codes-20') },
  codesOf(2000),
  action,
  {
    ...action,
    name: 'workflow-action-keyed',
    title: 'workflowAction with an idempotency key',
    isKeyed: true,
  },
  {
    name: 'search',
    title: 'search as 4 users type, each in a list of 20,000 codes',
    connections: 4,
    callers: 1,
    isOurs: true,
    query: searchQuery,
    variables: (n) => ({
      target: 'EMAIL',
      project: `codes-20000-${Math.floor(n / ROTATION)}`,
      search: TYPED.slice(0, (n % ROTATION) + 1),
    }),
  },
];

export function workloadNamed(name: string): Workload {
  const workload = workloads.find((one) => one.name === name);
  if (workload) return workload;
  const known = workloads.map((one) => one.name).join(', ');
  throw new Error(`Unknown workload ${name}. Known: ${known}`);
}

/** The n-th request of a workload. */
export function requestOf(workload: Workload, token: string, n: number): HttpRequest {
  const { query, variables, isKeyed } = workload;
  const request = graphqlRequest(JSON.stringify({ query, variables: variables(n) }), token);
  if (isKeyed) request.headers['idempotency-key'] = crypto.randomUUID();
  return request;
}

/** The cheapest request. It shows whether a peer is ready. */
export function cheapRequest(token: string): HttpRequest {
  return graphqlRequest('{"query":"{__typename}"}', token);
}

function graphqlRequest(body: string, token: string): HttpRequest {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return { headers, body };
}

/**
 * The requests of one connection, which begins again after the last, where `offset` requests were sent on all connections
 * before. Different connections have different ones, if the workload has projects. The rotations of all connections
 * together have all callers. No request with a key is sent twice.
 */
export function rotationOf(job: Job, connection: number, offset: number): HttpRequest[] {
  const { tokens, connections, requests } = job;
  const workload = workloadNamed(job.workload);
  const length = Math.max(ROTATION, Math.ceil(tokens.length / connections));
  const start = Math.floor(offset / connections);
  const steps = workload.isKeyed ? requests / connections : length;
  return Array.from({ length: steps }, (_, step) => {
    const n = connection * length + ((start + step) % length);
    return requestOf(workload, tokens[n % tokens.length] ?? '', n);
  });
}
