import { beforeAll, expect, test } from '@jest/globals';
import { faultCases, startFaultStack } from '../../../testkit/client-faults.ts';
import { anyWrite } from '../../../testkit/graphql-operation.ts';
import {
  createLedgerFetch,
  type LedgerFetchOptions,
  newIntent,
  readField,
  settle,
  withIntent,
} from '../src/index.ts';

type Data = { workflowAction: { __typename: string; code?: string } };

type Stack = Awaited<ReturnType<typeof startFaultStack>>;

let shared: Stack;
beforeAll(async () => {
  shared = await startFaultStack();
});

const query = `mutation { ${anyWrite('__typename ... on LedgerOutcomeUnknown { code }')} }`;

async function restart(stack: Stack, options: LedgerFetchOptions = {}, init: RequestInit = {}) {
  const { url, token } = stack;
  const ledgerFetch = createLedgerFetch({ ...stack.options, token: () => token, ...options });
  const headers = new Headers(init.headers);
  headers.set('content-type', 'application/json');
  const body = JSON.stringify({ query });
  const response = await ledgerFetch(url, { ...init, method: 'POST', headers, body });
  return readField<Data, 'workflowAction'>(await response.json(), 'workflowAction');
}

test.each([
  ['cut', 1, { kind: 'member', member: { __typename: 'WorkflowActionCompleted' } }],
  ['stall', 0, { kind: 'error', error: { code: 'IDEMPOTENCY_KEY_SETTLED' } }],
] as const)('a page that reloads after a %s learns the truth', async (fault, arrivals, result) => {
  const stack = shared;
  const { url, token } = stack;
  stack.prepare([fault]);
  const intent = newIntent();
  const page = new AbortController();
  const leave = () => page.abort(new Error('left'));
  const lost = restart(
    stack,
    { onProgress: leave },
    { ...withIntent({}, intent), signal: page.signal },
  );
  await expect(lost).rejects.toThrow('left');

  const settled = await settle<Data>(intent, { ...stack.options, url, token: () => token });

  expect(readField(settled, 'workflowAction')).toMatchObject(result);
  expect(stack.arrivals()).toBe(arrivals);
});

test.each(faultCases)(
  'after $name, there is at most one arrival, and the truth is known',
  async ({ faults, result, arrivals }) => {
    // The gateway that starts after a crash ends with its test.
    const stack = faults.includes('crash') ? await startFaultStack() : shared;
    stack.prepare(faults);
    expect(await restart(stack)).toMatchObject(result as object);
    expect(stack.arrivals()).toBe(arrivals);
  },
);
