import { readFileSync } from 'node:fs';

/** What the GraphQL peers share: the schema of the gateway, of which they resolve what is measured, and the service's records. */

export const typeDefs = readFileSync(
  new URL('../../schema.client.graphql', import.meta.url),
  'utf8',
);

/** The values that the workloads send. */
const targets = { EMAIL: 5 };
const actions = { RESTART: 'restartWorkflow2' };

export type GlCodesArgs = { target: keyof typeof targets; project: string; includeHide: boolean };
export type ActionArgs = { action: keyof typeof actions };

export type ServiceStatus = { invoice_id: number; message: string; status: number };
export type GlCodeInfoSS = {
  service_status: ServiceStatus;
  list: { Code: string; Name: string; Value: string; Hide: number }[] | null;
};

/** The path and query of a read. */
export function codesPath({ target, project, includeHide }: GlCodesArgs): string {
  const query = new URLSearchParams({
    target: String(targets[target]),
    project,
    includeHide: String(includeHide),
  });
  return `getGLCodes5?${query}`;
}

/** The path of a workflow action. */
export function actionPath({ action }: ActionArgs): string {
  return actions[action];
}

/** Converts a list of the service to the schema's types. */
export function toGlCodes(
  { service_status, list }: GlCodeInfoSS,
  { target, project }: GlCodesArgs,
) {
  const codes = (list ?? []).map(({ Code, Name, Value, Hide }) => ({
    target,
    project,
    code: Code,
    name: Name,
    value: Value,
    hide: Hide,
  }));
  return { ...toStatus(service_status), codes };
}

/** Converts the response to a workflow action to the schema's types. */
export function toAction(status: ServiceStatus, { action }: ActionArgs) {
  return { ...toStatus(status), action };
}

function toStatus({ invoice_id, message, status }: ServiceStatus) {
  return { status, invoiceId: String(invoice_id), message };
}

/** Returns a resolver of the union member for a status. */
function typeByStatus(success: string) {
  const members = [success, 'LedgerFailed', 'LedgerNoMoreInvoices', 'LedgerNotPermitted'];
  return ({ status }: { status: number }) => members[status] ?? 'LedgerUnrecognizedStatus';
}

export const typeOfGlCodes = typeByStatus('GlCodeList');
export const typeOfAction = typeByStatus('WorkflowActionCompleted');
