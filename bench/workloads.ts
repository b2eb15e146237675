import type { Job } from './load.ts';

/** A GraphQL operation that is sent to every peer, and how. */
export type Workload = {
  readonly name: string;
  readonly title: string;
  /** The response time of the service, in milliseconds. */
  readonly delayMs: 0 | 20;
  readonly connections: number;
  /** Whether stalls and memory are measured too, with a cheap request every 10 ms during the load. */
  readonly probed?: boolean;
  /** Whether it reads the same lists again, so that a cache of reads has an effect. */
  readonly isRepeated?: boolean;
  /** Whether only our gateway has it. */
  readonly isOurs?: boolean;
  readonly query: string;
  /** The variables of the n-th request of a rotation. */
  readonly variables: (n: number) => Record<string, string>;
  /** The path that the n-th request leads to, for the bare proxy. Undefined if it leads to several. */
  readonly call?: (n: number) => string;
};

/** GraphQL, GraphQL with a new `Idempotency-Key` in each request, or the request to the service. */
export type Protocol = 'graphql' | 'keyed' | 'bare';

/** An HTTP request. */
export type HttpRequest = {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
};

/** The number of different requests that each connection sends in rotation, unless all have keys. */
const ROTATION = 16;

const codesFields =
  '__typename ... on GlCodeList { codes { code name value hide } } ... on LedgerStatus { invoiceId message } ... on LedgerProblem { message }';

const codesQuery = `query Codes($target: IntegrationTarget!, $project: String!) {
  glCodes(target: $target, project: $project) { ${codesFields} }
}`;

const aliases = Array.from({ length: 100 }, (_, index) => `a${index}`);
const aliasesQuery = `query Aliases($target: IntegrationTarget!, $project: String!) {
  ${aliases.map((alias) => `${alias}: glCodes(target: $target, project: $project) { ...Fields }`).join('\n  ')}
}
fragment Fields on GlCodesResult { ${codesFields} }`;

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

function codes(project: (n: number) => string) {
  return {
    connections: 64,
    query: codesQuery,
    variables: (n: number) => ({ target: 'EMAIL', project: project(n) }),
    call: (n: number) => `/getGLCodes5?target=5&project=${project(n)}&includeHide=false`,
  } as const;
}

const different = codes((n) => `codes-20-${n}`);
const equal = codes(() => 'codes-20');

/** The typical load of a gateway. */
export const typical: Workload = {
  name: 'codes-20-different',
  title: '20 codes, different projects',
  delayMs: 0,
  ...different,
};

/** Reads of different lists of `count` codes. */
export function codesOf(count: number): Workload {
  return { ...typical, name: `codes-${count}`, ...codes((n) => `codes-${count}-${n}`) };
}

export const workloads: readonly Workload[] = [
  typical,
  {
    name: 'codes-20-equal',
    title: '20 codes, equal projects',
    delayMs: 0,
    isRepeated: true,
    ...equal,
  },
  {
    name: 'codes-20-different-20ms',
    title: '20 codes, different projects, the service takes 20 ms',
    delayMs: 20,
    ...different,
  },
  {
    name: 'codes-20-equal-20ms',
    title: '20 codes, equal projects, the service takes 20 ms',
    delayMs: 20,
    ...equal,
  },
  {
    name: 'codes-2000',
    title: '2,000 codes, different projects',
    delayMs: 0,
    ...codes((n) => `codes-2000-${n}`),
  },
  {
    name: 'search',
    title: 'search as 4 users type, each in a list of 20,000 codes',
    delayMs: 0,
    connections: 4,
    isRepeated: true,
    isOurs: true,
    query: searchQuery,
    variables: (n) => ({
      target: 'EMAIL',
      project: `codes-20000-${Math.floor(n / ROTATION)}`,
      search: TYPED.slice(0, (n % ROTATION) + 1),
    }),
  },
  {
    name: 'workflow-action',
    title: 'workflowAction',
    delayMs: 0,
    connections: 64,
    query: actionQuery,
    variables: () => ({ action: 'RESTART' }),
    call: () => '/restartWorkflow2',
  },
  {
    name: 'aliases-100',
    title: '100 aliases of one list of 20 codes, different projects',
    delayMs: 0,
    connections: 64,
    query: aliasesQuery,
    variables: different.variables,
  },
  {
    name: 'codes-50000',
    title: '50,000 codes, 4 connections',
    delayMs: 0,
    ...codes((n) => `codes-50000-${n}`),
    connections: 4,
    probed: true,
  },
];

export function workloadNamed(name: string): Workload {
  const workload = workloads.find((one) => one.name === name);
  if (workload) return workload;
  const known = workloads.map((one) => one.name).join(', ');
  throw new Error(`Unknown workload ${name}. Known: ${known}`);
}

/** The n-th request of a workload, as GraphQL or as the request to the service that it leads to. */
export function requestOf(
  workload: Workload,
  protocol: Protocol,
  token: string,
  n: number,
): HttpRequest {
  if (protocol === 'bare') {
    if (!workload.call) throw new Error(`${workload.name} leads to several requests`);
    return { method: 'GET', path: workload.call(n), headers: authorization(token) };
  }
  const body = JSON.stringify({ query: workload.query, variables: workload.variables(n) });
  const request = graphqlRequest(body, token);
  if (protocol === 'keyed') request.headers['idempotency-key'] = crypto.randomUUID();
  return request;
}

/** The cheapest request: it shows whether a peer is ready, and how long it stalls. */
export function cheapRequest(protocol: Protocol, token: string): HttpRequest {
  if (protocol !== 'bare') return graphqlRequest('{"query":"{__typename}"}', token);
  return { method: 'GET', path: '/', headers: authorization(token) };
}

function graphqlRequest(body: string, token: string): HttpRequest {
  const headers = { ...authorization(token), 'content-type': 'application/json' };
  return { method: 'POST', path: '/graphql', headers, body };
}

function authorization(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/**
 * The requests of one connection, which begins again after the last, where `offset` requests were sent on all connections
 * before. Different connections have different ones, if the workload has projects. The rotations of all connections
 * together have all callers. No request with a key is sent twice.
 */
export function rotationOf(
  workload: Workload,
  { protocol, tokens, connections, requests }: Job,
  connection: number,
  offset: number,
): HttpRequest[] {
  const length = Math.max(ROTATION, Math.ceil(tokens.length / connections));
  const start = Math.floor(offset / connections);
  return Array.from(
    { length: protocol === 'keyed' ? requests / connections : length },
    (_, step) => {
      const n = connection * length + ((start + step) % length);
      return requestOf(workload, protocol, tokens[n % tokens.length] ?? '', n);
    },
  );
}
