import { beforeAll } from '@jest/globals';
import { startTestGateway } from './gateway.ts';
import { type Reply, startService } from './service.ts';

/**
 * Starts one gateway for all tests of a file, in front of a service whose reply each test sets. Only for
 * tests that do not depend on connections, the circuit breaker, caches, logs or metrics.
 */
export function shareGateway(variables: Record<string, string> = {}) {
  let current: Reply;
  let shared: {
    service: Awaited<ReturnType<typeof startService>>;
    gateway: Awaited<ReturnType<typeof startTestGateway>>;
  };
  beforeAll(async () => {
    const service = await startService((response, received) => current(response, received));
    shared = { service, gateway: await startTestGateway(service, variables) };
  });
  /** Sets the reply of the service, and forgets the requests that it received from earlier tests. */
  return (reply: Reply) => {
    current = reply;
    shared.service.received.length = 0;
    return shared;
  };
}
