/** Restarts the workflow. */
export const restartDocument = `mutation Restart {
  workflowAction(action: RESTART) {
    __typename
    ... on LedgerProblem { message }
    ... on LedgerOutcomeUnknown { code requestId }
  }
}`;

/** The result of `restartDocument`, which a code generator writes for you. */
export type RestartData = {
  workflowAction:
    | { __typename: 'WorkflowActionCompleted' }
    | { __typename: 'LedgerFailed' | 'LedgerNotPermitted'; message: string | null }
    | { __typename: 'LedgerNoMoreInvoices' | 'LedgerUnrecognizedStatus'; message: string | null }
    | {
        __typename: 'LedgerOutcomeUnknown';
        message: string | null;
        code: string;
        requestId: string;
      }
    | null;
};
