import type { WorkflowOperation } from '../upstream/operations.ts';
import type { ServiceStatus, WorkflowCsvResult } from '../upstream/records.ts';
import { outcome } from './outcome.ts';

/*
 * The union members for the responses to writes, which are the same when a write is executed and when its key
 * is settled.
 */

export function approversSaved(status: ServiceStatus) {
  return outcome(status, (fields) => ({ __typename: 'ApproversSaved', ...fields }) as const);
}

export function csvUploaded({ unresolved, record }: WorkflowCsvResult) {
  const uploaded = (fields: { invoiceId: string | null; message: string | null }) =>
    ({ __typename: 'WorkflowCsvUploaded', unresolved, ...fields }) as const;
  return record ? outcome(record, uploaded) : uploaded({ invoiceId: null, message: null });
}

export function actionCompleted(action: WorkflowOperation, status: ServiceStatus) {
  return outcome(
    status,
    (fields) => ({ __typename: 'WorkflowActionCompleted', action, ...fields }) as const,
  );
}
