import { createTestGateway } from '@ledger-gateway/client/testing';
import { derived, get } from 'svelte/store';
import { beforeEach, expect, test, vi } from 'vitest';
import { effectScope } from 'vue';
import { restartWrite } from './restart-write.ts';
import { useRestart } from './use-restart.ts';

beforeEach(() => {
  const member = { __typename: 'WorkflowActionCompleted' };
  vi.stubGlobal('fetch', createTestGateway({ done: { workflowAction: member } }).fetch);
});

/** Only so that a busy machine fails no test. */
const patient = { timeout: 20_000 };

test('a write is a store of Svelte', async () => {
  expect(get(restartWrite)).toEqual({ phase: 'idle' });
  const phases: string[] = [];
  const phase = derived(restartWrite, ({ phase }) => phase);
  const unsubscribe = phase.subscribe((value) => phases.push(value));
  restartWrite.submit();
  await vi.waitFor(() => expect(phases).toEqual(['idle', 'sending', 'done']), patient);
  unsubscribe();
  restartWrite.dismiss();
  expect(phases).toHaveLength(3);
});

test('a composable of Vue shows the state until its component is gone', async () => {
  const scope = effectScope();
  const write = scope.run(useRestart);
  write?.submit();
  await vi.waitFor(() => expect(write?.state.value.phase).toBe('done'), patient);
  scope.stop();
  restartWrite.dismiss();
  expect(write?.state.value.phase).toBe('done');
});

test('a listener without a parameter is called after changes alone', () => {
  let calls = 0;
  const unsubscribe = restartWrite.subscribe(() => {
    calls += 1;
  });
  expect(calls).toBe(0);
  restartWrite.submit();
  expect(calls).toBe(1);
  unsubscribe();
});
