import { expect, test } from '@jest/globals';
import { startTestGateway } from '../../../testkit/gateway.ts';
import { anyWrite } from '../../../testkit/graphql-operation.ts';
import { json, startService } from '../../../testkit/service.ts';
import { createLedgerFetch, newIntent, readField, withIntent } from '../src/index.ts';

type Data = Record<'done' | 'failed', { __typename: string }>;

const query = `mutation {
  done: ${anyWrite('__typename ... on LedgerOutcomeUnknown { code }')}
  failed: workflowAction(action: UPGRADE_TO_HQ) { __typename ... on LedgerOutcomeUnknown { code } }
}`;

test('after one field was done and one was an error, a repeat does not repeat the first, although its record was lost', async () => {
  const service = await startService(json({ status: 0 }));
  // With the memory store, and without the second action.
  const start = () => startTestGateway(service, { WORKFLOW_ACTIONS: 'RESTART' });
  const gateway = await start();
  const ledgerFetch = createLedgerFetch({ token: () => gateway.token });
  const intent = newIntent();
  async function send({ url }: { url: string }) {
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify({ query }) };
    const result = await (await ledgerFetch(`${url}/graphql`, withIntent(init, intent))).json();
    return (['done', 'failed'] as const).map((name) => readField<Data, typeof name>(result, name));
  }
  expect(await send(gateway)).toEqual([
    { kind: 'member', member: { __typename: 'WorkflowActionCompleted' } },
    { kind: 'error', error: expect.objectContaining({ code: 'BAD_USER_INPUT' }) },
  ]);
  await gateway.close();

  const [done] = await send(await start());
  const orphaned = { __typename: 'LedgerOutcomeUnknown', code: 'ORPHANED' };
  expect(done).toMatchObject({ kind: 'member', member: orphaned });
  expect(service.received).toHaveLength(1);
});
