import { EventEmitter, once } from 'node:events';
import { expect, test } from '@jest/globals';
import {
  createLedgerFetch,
  type LedgerFetchOptions,
  readField,
} from '../packages/client/src/index.ts';
import { agedStore } from '../testkit/aged-store.ts';
import { startGatewayProcess } from '../testkit/gateway-process.ts';
import { freePort } from '../testkit/port.ts';
import { json, startService } from '../testkit/service.ts';
import { supergraphOf } from './stack.ts';
import type { StartSupergraph } from './supergraph.ts';

const query = `mutation {
  workflowAction(action: RESTART) {
    __typename
    ... on LedgerOutcomeUnknown { code requestId }
  }
}`;
type RestartData = { workflowAction: { __typename: string; code?: string } };

const completed = { kind: 'member', member: { __typename: 'WorkflowActionCompleted' } };

/** Starts a router in front of a gateway of its own process, which starts on the same port and store each time. */
async function startRestartStack(startSupergraph: StartSupergraph) {
  const events = new EventEmitter();
  const service = await startService(async (response, received) => {
    const released = once(events, 'release');
    events.emit('arrival');
    await released;
    return json({ status: 0 })(response, received);
  });
  const variables = {
    IDEMPOTENCY_STORE: await agedStore(),
    PORT: String(await freePort()),
    UPSTREAM_TIMEOUT_MS: '3000',
  };
  const start = () => startGatewayProcess(service, variables);
  const gateway = await start();
  const url = await startSupergraph(supergraphOf({ ledger: `${gateway.url}/graphql` }));
  return {
    gateway,
    start,
    arrivals: () => service.received.length,
    arrival: () => once(events, 'arrival'),
    release: () => events.emit('release'),
    /** Sends the write with the client package. */
    async write(onProgress: LedgerFetchOptions['onProgress'] = () => {}) {
      const ledgerFetch = createLedgerFetch({
        token: () => gateway.token,
        doubleClickMs: 0,
        delayMs: 50,
        onProgress,
      });
      const response = await ledgerFetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query }),
      });
      return readField<RestartData, 'workflowAction'>(await response.json(), 'workflowAction');
    },
  };
}

/** Defines the tests of the client package behind every router, while the gateway restarts. */
export function testGatewayRestart(startSupergraph: StartSupergraph): void {
  test('writes during a restart of the gateway have their outcomes, and are sent once', async () => {
    const { gateway, start, arrivals, arrival, release, write } =
      await startRestartStack(startSupergraph);

    const hasArrived = arrival();
    const inFlight = write();
    await hasArrived;
    gateway.signal('SIGTERM');
    release();
    expect(await inFlight).toMatchObject(completed);
    await gateway.exited;

    const hasArrivedAgain = arrival();
    const repeated = Promise.withResolvers<void>();
    const later = write(() => repeated.resolve());
    await repeated.promise;
    await start();
    await hasArrivedAgain;
    release();
    expect(await later).toMatchObject(completed);
    expect(arrivals()).toBe(2);
  });

  test('a write whose gateway is killed is unknown, and sent once', async () => {
    const { gateway, start, arrivals, arrival, write } = await startRestartStack(startSupergraph);

    const hasArrived = arrival();
    const result = write();
    await hasArrived;
    gateway.signal('SIGKILL');
    await gateway.exited;
    await start();

    expect(await result).toMatchObject({
      kind: 'member',
      member: { __typename: 'LedgerOutcomeUnknown', code: 'ORPHANED' },
    });
    expect(arrivals()).toBe(1);
  });
}
