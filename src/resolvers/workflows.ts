import { GatewayError } from '../errors/gateway-error.ts';
import type { MutationResolvers } from '../generated/resolvers.ts';
import type { WorkflowOperation } from '../upstream/operations.ts';
import type { ServiceStatus } from '../upstream/responses.ts';
import { outcome, writeOutcome } from './outcome.ts';

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

export function actionCompleted(action: WorkflowOperation, status: ServiceStatus) {
  return outcome(status, { __typename: 'WorkflowActionCompleted', action });
}
