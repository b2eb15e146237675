import type { MutationResolvers } from '../generated/resolvers.ts';
import type { WorkflowOperation } from '../upstream/operations.ts';
import type { ServiceStatus, WorkflowCsvResult } from '../upstream/records.ts';
import { toWorkflowCsvUpload } from './input.ts';
import { outcome, writeOutcome } from './outcome.ts';

export const uploadWorkflowCsv: NonNullable<MutationResolvers['uploadWorkflowCsv']> = async (
  _,
  { input },
  { service, csvOptionParam },
  { path },
) => {
  const client = service(); // Throws first if the token is missing.
  const { upload, query } = toWorkflowCsvUpload(input, csvOptionParam);
  const result = await client.uploadWorkflowCsv(upload, query, String(path.key));
  return writeOutcome(result, csvUploaded);
};

export function csvUploaded({ unresolved, record }: WorkflowCsvResult) {
  const uploaded = { __typename: 'WorkflowCsvUploaded', unresolved } as const;
  return record ? outcome(record, () => uploaded) : uploaded;
}

export const workflowAction: NonNullable<MutationResolvers['workflowAction']> = async (
  _,
  { action },
  { service },
  { path },
) => {
  const result = await service().workflowAction(action, String(path.key));
  return writeOutcome(result, (status) => actionCompleted(action, status));
};

export function actionCompleted(action: WorkflowOperation, status: ServiceStatus) {
  return outcome(
    status,
    (fields) => ({ __typename: 'WorkflowActionCompleted', action, ...fields }) as const,
  );
}
