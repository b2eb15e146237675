import type { MutationResolvers } from '../generated/resolvers.ts';
import { toCsvOptionQuery, toWorkflowCsvUpload } from './input.ts';
import { outcome, writeOutcome } from './outcome.ts';

export const uploadWorkflowCsv: NonNullable<MutationResolvers['uploadWorkflowCsv']> = async (
  _,
  { input },
  { upstream, csvOptionParam },
) => {
  const answer = await upstream().uploadWorkflowCsv(
    toWorkflowCsvUpload(input),
    toCsvOptionQuery(input.option, csvOptionParam),
  );
  return writeOutcome(answer, ({ unresolved, record }) => {
    const uploaded = { __typename: 'WorkflowCsvUploaded', unresolved } as const;
    return record ? outcome(record, () => uploaded) : uploaded;
  });
};

export const workflowAction: NonNullable<MutationResolvers['workflowAction']> = async (
  _,
  { action },
  { upstream },
) => {
  const answer = await upstream().workflowAction(action);
  return writeOutcome(answer, (status) =>
    outcome(status, (base) => ({ __typename: 'WorkflowActionCompleted', action, ...base })),
  );
};
