import { createTestGateway, type Situation } from '@ledger-gateway/client/testing';
import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, test, vi } from 'vitest';
import { RestartButton } from './restart-button.tsx';

afterEach(cleanup);

/** Shows the button with a gateway in this situation, and clicks. */
function restart(situation: Situation) {
  const gateway = createTestGateway({
    situation,
    done: { workflowAction: { __typename: 'WorkflowActionCompleted' } },
  });
  vi.stubGlobal('fetch', gateway.fetch);
  render(<RestartButton />);
  fireEvent.click(screen.getByText('Restart'));
  return gateway;
}

const buttons = () => screen.getAllByRole('button').map(({ textContent }) => textContent);

test('done: the workflow was restarted', async () => {
  const { arrivals } = restart('done');
  await screen.findByText('done');
  expect(arrivals).toHaveLength(1);
});

test('refused: the service says why', async () => {
  restart('refused');
  await screen.findByText('refused: Not permitted.');
});

test('failed: nothing was done', async () => {
  restart('failed');
  await screen.findByText('failed: UPSTREAM_BAD_REQUEST');
});

test('lost: the user asks again, and the write is not sent again', async () => {
  const gateway = restart('lost');
  await screen.findByText('unknown');
  expect(buttons()).toEqual(['Restart', 'Ask again']);
  const { length } = gateway.arrivals;
  gateway.situation = 'done';
  fireEvent.click(screen.getByText('Ask again'));
  await screen.findByText('done');
  expect(gateway.arrivals.slice(length).map(({ kind }) => kind)).toEqual(['settle']);
});

test('unknown: the user has to check in the ledger', async () => {
  restart('unknown');
  await screen.findByText('unknown');
  expect(buttons()).toEqual(['Restart', 'I have checked']);
  fireEvent.click(screen.getByText('I have checked'));
  await screen.findByText('idle');
});

test('in progress: there is no outcome yet', async () => {
  restart('in-progress');
  await screen.findByText('unknown');
  expect(buttons()).toEqual(['Restart', 'Ask again']);
});

test('orphaned: asking again may help, and the user may check instead', async () => {
  restart('orphaned');
  await screen.findByText('unknown');
  expect(buttons()).toEqual(['Restart', 'Ask again', 'I have checked']);
});

test('settled: the response was lost, and nothing was done', async () => {
  restart('settled');
  await screen.findByText('failed: IDEMPOTENCY_KEY_SETTLED');
});

test('offline: nothing is sent', async () => {
  const { arrivals } = restart('offline');
  await screen.findByText('failed: OFFLINE');
  expect(arrivals).toEqual([]);
});
