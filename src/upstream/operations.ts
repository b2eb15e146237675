/**
 * The nine operations of the service (specification, sections 4.1 to 4.4), one row each. Whatever
 * the gateway does with a call (retry, de-duplication, abort, connection, log and metric labels)
 * follows from its row: nothing else in the code names an operation to decide about it.
 */

type Operation = {
  readonly method: 'GET' | 'POST';
  /** Whether the call may change state. Six of the service's GETs do. */
  readonly effect: 'read' | 'write';
  /** The record that answers it (specification, section 2). */
  readonly answer: 'GLCodeInfoSS' | 'ServiceStatus' | 'unresolved';
  /** Where the schema exposes it. */
  readonly graphql: `Query.${string}` | `Mutation.${string}`;
};

export const operations = {
  getGLCodes5: {
    method: 'GET',
    effect: 'read',
    answer: 'GLCodeInfoSS',
    graphql: 'Query.glCodes',
  },
  saveApproverList: {
    method: 'POST',
    effect: 'write',
    answer: 'ServiceStatus',
    graphql: 'Mutation.saveApprovers',
  },
  updateWorkflowCSV: {
    method: 'POST',
    effect: 'write',
    answer: 'unresolved',
    graphql: 'Mutation.uploadWorkflowCsv',
  },
  restartWorkflowAndMoveToNext: {
    method: 'GET',
    effect: 'write',
    answer: 'ServiceStatus',
    graphql: 'Mutation.workflowAction',
  },
  reStoreGlobalSolution: {
    method: 'GET',
    effect: 'write',
    answer: 'ServiceStatus',
    graphql: 'Mutation.workflowAction',
  },
  reStoreSolution: {
    method: 'GET',
    effect: 'write',
    answer: 'ServiceStatus',
    graphql: 'Mutation.workflowAction',
  },
  restartWorkflow2: {
    method: 'GET',
    effect: 'write',
    answer: 'ServiceStatus',
    graphql: 'Mutation.workflowAction',
  },
  updateSolutionGuide: {
    method: 'GET',
    effect: 'write',
    answer: 'ServiceStatus',
    graphql: 'Mutation.workflowAction',
  },
  upgradeToHQ: {
    method: 'GET',
    effect: 'write',
    answer: 'ServiceStatus',
    graphql: 'Mutation.workflowAction',
  },
} as const satisfies Record<string, Operation>;

export type OperationName = keyof typeof operations;

/** What a call may do, by its effect. A write is sent once, on its own, whatever happens to it. */
const policies = {
  read: {
    /** Attempts after the first, on connection faults and 502, 503, 504 only. */
    retries: 2,
    /** Whether equal calls may share one answer. */
    shared: true,
    /** Whether the call ends when its caller goes away. */
    abortable: true,
    /** Which connections may be used again. */
    reuse: 'always',
  },
  write: {
    retries: 0,
    shared: false,
    abortable: false,
    // A service that drops an idle connection just as a write leaves on it makes its outcome
    // unknowable: docs/decisions/0003.
    reuse: 'whereSafe',
  },
} as const;

/** The policy of an operation: read off its row. */
export function policyOf(operation: OperationName) {
  return policies[operations[operation].effect];
}
