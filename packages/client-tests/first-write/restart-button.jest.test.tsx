import { afterEach, expect, test } from '@jest/globals';
import { createTestGateway, type Situation } from '@ledger-gateway/client/testing';
import { cleanup, configure, fireEvent, render, screen } from '@testing-library/react';
import { RestartButton } from './restart-button';

// Only so that a busy machine fails no test. The default is one second.
configure({ asyncUtilTimeout: 4_000 });
afterEach(cleanup);

/** Shows the button with a gateway in this situation, and clicks. */
function restart(situation: Situation) {
  const gateway = createTestGateway({
    situation,
    done: { workflowAction: { __typename: 'WorkflowActionCompleted' } },
    // The app also gets its token with `fetch`.
    queries: () => new Response('token'),
  });
  globalThis.fetch = gateway.fetch;
  render(<RestartButton />);
  fireEvent.click(screen.getByText('Restart the workflow'));
  return gateway;
}

const buttons = () => screen.getAllByRole('button').map(({ textContent }) => textContent);

test('done: the workflow was restarted', async () => {
  const { arrivals } = restart('done');
  await screen.findByText('The workflow was restarted.');
  expect(arrivals).toHaveLength(1);
});

test('refused: the service says why', async () => {
  restart('refused');
  await screen.findByText('The ledger refused the restart: Not permitted.');
});

test('failed: nothing was done', async () => {
  restart('failed');
  await screen.findByText('The workflow was not restarted: UPSTREAM_BAD_REQUEST');
});

test('lost: the user asks again, and the write is not sent again', async () => {
  const gateway = restart('lost');
  await screen.findByText(/It is not known yet/);
  expect(buttons()).toEqual(['Restart the workflow', 'Ask again']);
  const { length } = gateway.arrivals;
  gateway.situation = 'done';
  fireEvent.click(screen.getByText('Ask again'));
  await screen.findByText('The workflow was restarted.');
  expect(gateway.arrivals.slice(length).map(({ kind }) => kind)).toEqual(['settle']);
});

test('unknown: the user has to check in the ledger', async () => {
  restart('unknown');
  await screen.findByText(/The workflow may have been restarted/);
  expect(buttons()).toEqual(['Restart the workflow', 'I have checked']);
  fireEvent.click(screen.getByText('I have checked'));
  await screen.findByText('The button is ready.');
});

test('in progress: there is no outcome yet', async () => {
  restart('in-progress');
  await screen.findByText(/It is not known yet/);
  expect(buttons()).toEqual(['Restart the workflow', 'Ask again']);
});

test('orphaned: asking again may help, and the user may check instead', async () => {
  restart('orphaned');
  await screen.findByText(/The workflow may have been restarted/);
  expect(buttons()).toEqual(['Restart the workflow', 'Ask again', 'I have checked']);
});

test('settled: the response was lost, and nothing was done', async () => {
  restart('settled');
  await screen.findByText('The workflow was not restarted: IDEMPOTENCY_KEY_SETTLED');
});

test('offline: nothing is sent', async () => {
  const { arrivals } = restart('offline');
  await screen.findByText('The workflow was not restarted: OFFLINE');
  expect(arrivals).toEqual([]);
});
