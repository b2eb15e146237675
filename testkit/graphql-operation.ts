import { operations } from '../src/upstream/declarations.ts';

/** Every field of the outcomes of a read other than success, and those of a status record. */
export const readFields =
  '__typename ... on LedgerStatus { invoiceId message } ... on LedgerProblem { message } ... on LedgerUnrecognizedStatus { status }';
/** Those of a write. */
export const outcomeFields = `${readFields} ... on LedgerOutcomeUnknown { code requestId }`;

/** The arguments of `workflowAction` besides `action`, with a value for each parameter of the action. */
export const furtherArguments: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {};

/** The arguments of `workflowAction` for an action, and perhaps others. */
export function actionArguments(action: string, others = {}): string {
  const values = Object.entries({ ...furtherArguments[action], ...others });
  const further = values.map(([name, value]) => ` ${name}: ${JSON.stringify(value)}`);
  return `action: ${action}${further.join('')}`;
}

/** The field of a write, for tests of what holds for every write. It sends `/restartWorkflow2`. */
export const anyWrite = (selection = '__typename') =>
  `workflowAction(${actionArguments('RESTART')}) { ${selection} }`;

/** The mutation field for each write, by the name of its operation. */
export const writes: Record<string, string> = {
  saveApproverList: `saveApprovers(approvers: [{ name: "Ada" }]) { ${outcomeFields} }`,
  updateWorkflowCSV: `uploadWorkflowCsv(input: { fileName: "a.csv", csv: "a" }) { ${outcomeFields} ... on WorkflowCsvUploaded { unresolved } }`,
};
for (const { name, action } of Object.values(operations)) {
  if (action === undefined) continue;
  writes[name] = `workflowAction(${actionArguments(action)}) { ${outcomeFields} }`;
}

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
