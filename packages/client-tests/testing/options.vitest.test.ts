import { createTestGateway, type TestGatewayOptions } from '@ledger-gateway/client/testing';
import { afterEach, expect, test, vi } from 'vitest';
import { ledger, ledgerFetch } from './ledger.ts';
import { restartWrite } from './restart-write.ts';

const done = {
  workflowAction: { __typename: 'WorkflowActionCompleted' },
  saveApprovers: { __typename: 'ApproversSaved' },
};

function startGateway(options: Partial<TestGatewayOptions>) {
  const gateway = createTestGateway({ done, ...options });
  vi.stubGlobal('fetch', gateway.fetch);
  return gateway;
}

afterEach(() => {
  vi.unstubAllGlobals();
});

/** Sends a document without `createWrite`. */
async function send(query: string): Promise<unknown> {
  const headers = { 'content-type': 'application/json' };
  const init = { method: 'POST', headers, body: JSON.stringify({ query }) };
  return (await ledgerFetch(ledger.url, init)).json();
}

/** The state after a click. */
async function click(): Promise<unknown> {
  restartWrite.submit();
  const isEnded = () => expect(restartWrite.getState().phase).not.toMatch(/sending|asking/);
  await vi.waitFor(isEnded, { timeout: 20_000 });
  return restartWrite.getState();
}

test('a refusal and an error are those of the test', async () => {
  const refusal = { __typename: 'LedgerFailed', message: 'The month is closed.' };
  startGateway({ situation: 'refused', refusal });
  expect(await click()).toEqual({ phase: 'refused', member: refusal });

  const faults = [{ path: ['action'], message: 'is not an action' }];
  startGateway({ situation: 'failed', error: { code: 'BAD_USER_INPUT', message: 'No.', faults } });
  const error = { code: 'BAD_USER_INPUT', message: 'No.', faults };
  expect(await click()).toMatchObject({ phase: 'failed', error });
});

test('a query gets the response of the test, and is no arrival', async () => {
  const data = { glCodes: null };
  const { arrivals } = startGateway({ queries: () => Response.json({ data }) });
  expect(await send('{ glCodes { __typename } }')).toEqual({ data });
  expect(arrivals).toEqual([]);
});

test('without queries, a query is an error', async () => {
  startGateway({});
  await expect(send('{ glCodes { __typename } }')).rejects.toThrow('`queries`');
});

test('a write has the outcomes of its own fields alone', async () => {
  startGateway({});
  expect(await send('mutation { saveApprovers { __typename } }')).toEqual({
    data: { saveApprovers: done.saveApprovers },
  });
});

test.each([
  [0, 2],
  [5_000, 1],
])('with doubleClickMs: %s, the same mutation twice arrives %s times', async (ms, count) => {
  const { arrivals } = startGateway({ times: { doubleClickMs: ms } });
  const mutation = 'mutation { workflowAction(action: RESTART) { __typename } }';
  await Promise.all([send(mutation), send(mutation)]);
  expect(arrivals).toHaveLength(count);
});

test('the page continues when it is online again', async () => {
  const gateway = startGateway({ situation: 'offline', times: { patienceMs: 20_000 } });
  restartWrite.submit();
  await vi.waitFor(() => expect(restartWrite.getState()).toMatchObject({ wait: 'offline' }));
  gateway.situation = 'done';
  const isDone = () => expect(restartWrite.getState().phase).toBe('done');
  await vi.waitFor(isDone, { timeout: 10_000 });
});
