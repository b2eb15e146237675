import { GatewayError } from '../errors/gateway-error.ts';
import type {
  MutationResolvers,
  MutationWorkflowActionArgs,
  WorkflowAction,
} from '../generated/resolvers.ts';
import { operations } from '../upstream/declarations.ts';

type ActionRequest = ReturnType<typeof operations.restartWorkflow2.encode>;

/** The request of each action, from the arguments of `workflowAction`. */
const requests: Record<WorkflowAction, (args: MutationWorkflowActionArgs) => ActionRequest> = {
  RESTART_AND_MOVE_TO_NEXT: () => operations.restartWorkflowAndMoveToNext.encode({}),
  RESTORE_GLOBAL_SOLUTION: () => operations.reStoreGlobalSolution.encode({}),
  RESTORE_SOLUTION: () => operations.reStoreSolution.encode({}),
  RESTART: () => operations.restartWorkflow2.encode({}),
  UPDATE_SOLUTION_GUIDE: () => operations.updateSolutionGuide.encode({}),
  UPGRADE_TO_HQ: () => operations.upgradeToHQ.encode({}),
};

export const workflowAction: NonNullable<MutationResolvers['workflowAction']> = (
  _,
  args,
  { write, workflowActions },
  info,
) => {
  const { action } = args;
  if (!workflowActions.includes(action)) {
    const message = '"action" is not allowed by the configuration.';
    throw new GatewayError('BAD_USER_INPUT', message, { faults: [{ path: ['action'], message }] });
  }
  return write(requests[action](args), info);
};
