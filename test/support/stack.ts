import { startTestGateway } from '../../testkit/gateway.ts';
import { type Reply, startService } from '../../testkit/service.ts';

/** Starts a service with this reply until `respondWith` sets another one, and a gateway in front of it. */
export async function startStack(reply: Reply | undefined, variables: Record<string, string> = {}) {
  const service = await startService(reply);
  const gateway = await startTestGateway(service, variables);
  return { service, gateway, respondWith: service.respondWith };
}

/** Starts a service that responds when the test says so, and a gateway in front of it. */
export const startHeldStack = (variables?: Record<string, string>) =>
  startStack(undefined, variables);
