import { beforeAll } from '@jest/globals';
import { type Reply, reply } from '../../testkit/service.ts';
import { startStack } from './stack.ts';

/**
 * Starts one gateway for all tests of a file, in front of a service whose reply each test sets. Only for
 * tests that do not depend on connections, the circuit breaker, caches, logs or metrics.
 */
export function shareGateway(variables: Record<string, string> = {}) {
  let shared: Awaited<ReturnType<typeof startStack>>;
  beforeAll(async () => {
    shared = await startStack(reply(500), variables);
  });
  /** Sets the reply of the service, and forgets the requests that it received from earlier tests. */
  return (reply: Reply) => {
    shared.respondWith(reply);
    shared.service.received.length = 0;
    return shared;
  };
}
