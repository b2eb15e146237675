import { startTestGateway } from '../../testkit/gateway.ts';
import { type Reply, startService } from '../../testkit/service.ts';

/** Starts a service with this reply until `respondWith` sets another one. */
export async function startChangingService(reply: Reply) {
  let current = reply;
  const service = await startService((response, received) => current(response, received));
  const respondWith = (next: Reply): void => {
    current = next;
  };
  return { ...service, respondWith };
}

/** Starts such a service, and a gateway in front of it. */
export async function startStack(reply: Reply, variables: Record<string, string> = {}) {
  const service = await startChangingService(reply);
  const gateway = await startTestGateway(service, variables);
  return { service, gateway, respondWith: service.respondWith };
}

/** Starts a service that responds when the test says so, and a gateway in front of it. */
export async function startHeldStack(variables: Record<string, string> = {}) {
  const service = await startService();
  return { service, gateway: await startTestGateway(service, variables) };
}
