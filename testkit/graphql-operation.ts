import { WorkflowAction } from '../src/generated/resolvers.ts';
import type { WorkflowOperation } from '../src/upstream/operations.ts';

/** Every field of the outcomes of a read other than success, and those of a status record. */
export const readFields =
  '__typename ... on LedgerStatus { invoiceId message } ... on LedgerProblem { message } ... on LedgerUnrecognizedStatus { status }';
/** Those of a write. */
export const outcomeFields = `${readFields} ... on LedgerOutcomeUnknown { code requestId }`;

/** The workflow actions: the name of the operation, and the value in the schema. */
export const actions: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(WorkflowAction).map(([value, operation]) => [operation, value]),
);

/** The arguments of `workflowAction` for an action. */
export function actionArguments(action: WorkflowOperation): string {
  return `action: ${actions[action]}`;
}

/** The mutation field for each write operation. */
export const writes: Record<string, string> = {
  saveApproverList: `saveApprovers(approvers: [{ name: "Ada" }]) { ${outcomeFields} }`,
  updateWorkflowCSV: `uploadWorkflowCsv(input: { fileName: "a.csv", csv: "a" }) { ${outcomeFields} ... on WorkflowCsvUploaded { unresolved } }`,
  ...Object.fromEntries(
    Object.values(WorkflowAction).map((operation) => [
      operation,
      `workflowAction(${actionArguments(operation)}) { ${outcomeFields} }`,
    ]),
  ),
};

/** The field of a write, for tests of what holds for every write. It sends `/restartWorkflow2`. */
export const anyWrite = (selection = '__typename') =>
  `workflowAction(${actionArguments('restartWorkflow2')}) { ${selection} }`;

/** Posts a body to a gateway: a string unchanged, anything else as JSON. `signal` disconnects. */
export async function postTo(
  url: string,
  body: unknown,
  headers: Record<string, string>,
  signal: AbortSignal | null = null,
) {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
    signal,
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

/** The smallest write. Its response name is `result`. */
export const write = `mutation { result: ${writes.upgradeToHQ} }`;

/** The smallest read. Its response name is `result`. */
export const read =
  '{ result: glCodes(target: EMAIL, project: "north") { __typename ... on GlCodeList { codes { code } } } }';
