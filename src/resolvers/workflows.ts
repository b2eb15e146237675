import type { MutationResolvers } from '../generated/resolvers.ts';
import { checkAction, toWorkflowCsvUpload } from './input.ts';
import { writeOutcome } from './outcome.ts';
import { actionCompleted, csvUploaded } from './write-member.ts';

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

export const workflowAction: NonNullable<MutationResolvers['workflowAction']> = async (
  _,
  { action },
  { service, workflowActions },
  { path },
) => {
  const client = service();
  checkAction(action, workflowActions);
  const result = await client.workflowAction(action, String(path.key));
  return writeOutcome(result, (status) => actionCompleted(action, status));
};
