import { GatewayError } from '../errors/gateway-error.ts';
import type { MutationResolvers, WorkflowAction } from '../generated/resolvers.ts';
import { operations } from '../upstream/declarations.ts';
import { outcomeMember } from './status-member.ts';

/** The request of each action, from the arguments of `workflowAction`. */
const requests = {
  RESTART_AND_MOVE_TO_NEXT: () => operations.restartWorkflowAndMoveToNext.encode(),
  RESTORE_GLOBAL_SOLUTION: () => operations.reStoreGlobalSolution.encode(),
  RESTORE_SOLUTION: () => operations.reStoreSolution.encode(),
  RESTART: () => operations.restartWorkflow2.encode(),
  UPDATE_SOLUTION_GUIDE: () => operations.updateSolutionGuide.encode(),
  UPGRADE_TO_HQ: () => operations.upgradeToHQ.encode(),
} satisfies Record<WorkflowAction, unknown>;

export const workflowAction: NonNullable<MutationResolvers['workflowAction']> = async (
  _,
  { action },
  { write, workflowActions },
  info,
) => {
  if (!workflowActions.includes(action)) {
    const message = '"action" is not allowed by the configuration.';
    throw new GatewayError('BAD_USER_INPUT', message, { faults: [{ path: ['action'], message }] });
  }
  const request = requests[action]();
  return outcomeMember(await write(request, info), request.operation);
};
