import { GatewayError } from '../errors/gateway-error.ts';
import type { MutationResolvers } from '../generated/resolvers.ts';
import type { WorkflowCsvResult } from '../upstream/declarations.ts';
import type { WorkflowOperation } from '../upstream/operations.ts';
import type { ServiceStatus } from '../upstream/responses.ts';
import { toWorkflowCsvUpload } from './input.ts';
import { outcome, writeOutcome } from './outcome.ts';

export const uploadWorkflowCsv: NonNullable<MutationResolvers['uploadWorkflowCsv']> = async (
  _,
  { input },
  { service, csvOptionParam },
  { path },
) => {
  const client = service(); // Throws first if the token is missing.
  const upload = toWorkflowCsvUpload(input, csvOptionParam);
  const result = await client.write('updateWorkflowCSV', String(path.key), upload);
  return writeOutcome(result, csvUploaded);
};

export const workflowAction: NonNullable<MutationResolvers['workflowAction']> = async (
  _,
  { action },
  { service, workflowActions },
  { path },
) => {
  const client = service();
  if (!workflowActions.includes(action)) {
    const message = '"action" is not allowed by the configuration.';
    throw new GatewayError('BAD_USER_INPUT', message, { faults: [{ path: ['action'], message }] });
  }
  const result = await client.write(action, String(path.key), {});
  return writeOutcome(result, (status) => actionCompleted(action, status));
};

export function csvUploaded({ unresolved, record }: WorkflowCsvResult) {
  const success = { __typename: 'WorkflowCsvUploaded', unresolved } as const;
  return record ? outcome(record, success) : { ...success, invoiceId: null, message: null };
}

export function actionCompleted(action: WorkflowOperation, status: ServiceStatus) {
  return outcome(status, { __typename: 'WorkflowActionCompleted', action });
}
