import { expect, test } from '@jest/globals';
import { send, startStack } from './stack.ts';
import type { StartSupergraph } from './supergraph.ts';

const key = 'intent-1';
const headers = { 'idempotency-key': key, 'idempotency-key-age': '0' };
const actions = `mutation {
  a: workflowAction(action: RESTART) { __typename }
  b: workflowAction(action: RESTART) { __typename }
  c: workflowAction(action: RESTART) { __typename }
}`;
const saves = (prefix: string) => `mutation {
  a: saveApprovers(approvers: [{ name: "${prefix} one" }]) { __typename }
  b: saveApprovers(approvers: [{ name: "${prefix} two" }]) { __typename }
}`;
const settle = `mutation ($key: String!) {
  settleWrites(idempotencyKey: $key, ageMs: 0) {
    isComplete
    writes { responseName outcome { __typename } }
  }
}`;

/** Defines the tests of idempotency keys that every gateway must pass. */
export function testIdempotencyKeys(startSupergraph: StartSupergraph): void {
  test('with a key, each root field is sent once, however often the mutation is repeated', async () => {
    const stack = await startStack();
    const url = await startSupergraph(stack.supergraphSdl);
    const token = await stack.token();

    const first = await send(url, token, actions, {}, headers);
    const repeat = await send(url, token, actions, {}, { ...headers, 'idempotency-key-age': '10' });

    expect(first.errors).toBeUndefined();
    expect(Object.keys(first.data ?? {})).toEqual(['a', 'b', 'c']);
    expect(repeat).toEqual(first);
    expect(stack.calls).toHaveLength(3);
  });

  test('a key that is older than the records of the gateway sends nothing', async () => {
    const stack = await startStack();
    const url = await startSupergraph(stack.supergraphSdl);
    const old = { ...headers, 'idempotency-key-age': '3600000' };

    const query =
      'mutation { a: workflowAction(action: RESTART) { ... on LedgerOutcomeUnknown { code } } }';
    const { data } = await send(url, await stack.token(), query, {}, old);

    expect(data).toEqual({ a: { code: 'ORPHANED' } });
    expect(stack.calls).toEqual([]);
  });

  test('two different writes of one mutation do not collide, and other writes with its key are rejected', async () => {
    const stack = await startStack();
    const url = await startSupergraph(stack.supergraphSdl);
    const token = await stack.token();

    const first = await send(url, token, saves('first'), {}, headers);
    expect(first.errors).toBeUndefined();
    expect(stack.calls).toHaveLength(2);
    const { errors } = await send(url, token, saves('second'), {}, headers);
    expect(errors?.map(({ extensions }) => extensions.code)).toEqual(
      Array(2).fill('IDEMPOTENCY_KEY_REUSED'),
    );
    expect(stack.calls).toHaveLength(2);
  });

  test('settling returns what was executed', async () => {
    const stack = await startStack();
    const url = await startSupergraph(stack.supergraphSdl);
    const token = await stack.token();
    const first = await send(url, token, actions, {}, headers);
    expect(first.errors).toBeUndefined();
    const { data } = await send(url, token, settle, { key });
    const outcome = { __typename: 'WorkflowActionCompleted' };
    const writes = ['a', 'b', 'c'].map((responseName) => ({ responseName, outcome }));
    expect(data).toEqual({ settleWrites: { isComplete: true, writes } });
    expect(stack.calls).toHaveLength(3);
  });

  test('a settled key is closed', async () => {
    const stack = await startStack();
    const url = await startSupergraph(stack.supergraphSdl);
    const token = await stack.token();
    const settled = await send(url, token, settle, { key });
    expect(settled.data).toEqual({ settleWrites: { isComplete: true, writes: [] } });
    const query = 'mutation { a: workflowAction(action: RESTART) { __typename } }';
    const { errors } = await send(url, token, query, {}, headers);
    expect(errors?.[0]?.extensions.code).toBe('IDEMPOTENCY_KEY_SETTLED');
    expect(stack.calls).toHaveLength(0);
  });
}

/** Defines the test of gateways that pass response headers on. */
export function testReplayHeader(startSupergraph: StartSupergraph): void {
  test('the client sees that an outcome is a replay', async () => {
    const stack = await startStack();
    const url = await startSupergraph(stack.supergraphSdl);
    const post = async () => {
      const { headers } = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${await stack.token()}`,
          'idempotency-key': 'intent-1',
        },
        body: '{"query":"mutation { workflowAction(action: RESTART) { __typename } }"}',
      });
      return headers.get('idempotent-replayed');
    };
    expect([await post(), await post()]).toEqual([null, 'true']);
  });
}
