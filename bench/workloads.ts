/** What is asked of every peer. */
export type Workload = {
  readonly name: string;
  readonly title: string;
  /** How long the service takes, in milliseconds. */
  readonly delayMs: 0 | 20;
  readonly connections: number;
  /** Whether another, cheap request is sent every 10 ms beside it, and the memory is watched after it. */
  readonly probed?: boolean;
  readonly query: string;
  /** The variables of the n-th request of a rotation. */
  readonly variables: (n: number) => Record<string, string>;
  /** The call that the n-th request comes down to, for the bare proxy; where it is more than one, none. */
  readonly call?: (n: number) => string;
};

/** A request as it goes onto the wire. */
export type WireRequest = {
  method: 'GET' | 'POST';
  path: string;
  headers: Record<string, string>;
  body?: string;
};

/** How many different requests each connection rotates through. */
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

/** What a gateway does most of the day. */
export const everyday: Workload = {
  name: 'codes-20-different',
  title: '20 codes, different projects',
  delayMs: 0,
  ...different,
};

export const workloads: readonly Workload[] = [
  everyday,
  { name: 'codes-20-equal', title: '20 codes, equal projects', delayMs: 0, ...equal },
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
  throw new Error(`There is no workload ${name}. There are: ${known}`);
}

/** The n-th request of a workload, as GraphQL or as the bare call. */
export function requestOf(
  workload: Workload,
  protocol: 'graphql' | 'bare',
  token: string,
  n: number,
): WireRequest {
  const headers = { authorization: `Bearer ${token}` };
  if (protocol === 'bare') {
    if (!workload.call) throw new Error(`${workload.name} is no single call`);
    return { method: 'GET', path: workload.call(n), headers };
  }
  const body = JSON.stringify({ query: workload.query, variables: workload.variables(n) });
  return graphqlRequest(body, token);
}

/** The cheapest request there is: it shows that a peer is up, and how long it keeps others waiting. */
export function cheapRequest(protocol: 'graphql' | 'bare', token: string): WireRequest {
  if (protocol === 'graphql') return graphqlRequest('{"query":"{__typename}"}', token);
  return { method: 'GET', path: '/', headers: { authorization: `Bearer ${token}` } };
}

function graphqlRequest(body: string, token: string): WireRequest {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return { method: 'POST', path: '/graphql', headers, body };
}

/** What one connection rotates through; no two connections share a request that differs by project. */
export function rotationOf(
  workload: Workload,
  protocol: 'graphql' | 'bare',
  token: string,
  connection: number,
): WireRequest[] {
  return Array.from({ length: ROTATION }, (_, index) =>
    requestOf(workload, protocol, token, connection * ROTATION + index),
  );
}
