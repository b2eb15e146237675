import { describe, expect, test } from '@jest/globals';
import { createLedgerFetch, readField } from '../packages/client/src/index.ts';
import { startDroppingProxy } from '../testkit/dropping-proxy.ts';
import { send, startStack } from './stack.ts';
import type { StartSupergraph } from './supergraph.ts';

type Data = { workflowAction: { __typename: string } };

const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
const probe = 'mutation { settleWrites(idempotencyKey: "do-keys-arrive") { keyArrived } }';

/** What the client package tells of a write, and what its gateway has received, by what is lost between client and router. */
const cases = [
  { loss: 'nothing is lost', count: 0, told: 'WorkflowActionCompleted' },
  { loss: 'one response is lost', count: 1 },
  { loss: 'all responses to writes are lost', count: Number.POSITIVE_INFINITY },
];

/**
 * Defines the tests of a router that forwards the headers of a client, or that has been configured without them and forwards
 * only the token.
 */
export function testLostKeys(forwards: StartSupergraph, forwardsOnlyToken: StartSupergraph): void {
  const routers = [
    { what: 'forwards keys', start: forwards, keyArrived: true, lost: 'WorkflowActionCompleted' },
    {
      what: 'does not forward keys',
      start: forwardsOnlyToken,
      keyArrived: false,
      lost: 'KEY_NOT_CONFIRMED',
    },
  ];

  describe.each(routers)('a router that $what', ({ start, keyArrived, lost }) => {
    test.each(cases)(
      'and $loss: the write arrives once, and the client is told the truth',
      async (row) => {
        const stack = await startStack();
        const proxy = await startDroppingProxy(await start(stack.supergraphSdl));
        const token = await stack.token();
        const ledgerFetch = createLedgerFetch({ delayMs: 2, patienceMs: 300, token: () => token });
        proxy.lose(row.count);
        const response = await ledgerFetch(proxy.url, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ query }),
        });
        const result = readField<Data, 'workflowAction'>(await response.json(), 'workflowAction');
        expect(result.member?.__typename ?? result.error?.code).toBe(row.told ?? lost);
        expect(stack.calls).toHaveLength(1);
      },
    );

    test('is found out in a minute: by one request, and by the log of the gateway', async () => {
      const stack = await startStack();
      const url = await start(stack.supergraphSdl);
      const token = await stack.token();
      const key = { 'idempotency-key': 'do-keys-arrive' };
      const { data } = await send(url, token, probe, {}, key);
      expect(data).toEqual({ settleWrites: { keyArrived } });
      await send(url, token, query, {}, { 'idempotency-key': 'intent-1' });
      const hints = stack.logs.filter(({ msg }) => msg === 'write without idempotency key');
      expect(hints).toHaveLength(keyArrived ? 0 : 1);
    });
  });
}
