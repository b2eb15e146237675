// @vitest-environment node
import { createTestGateway, type Situation } from '@ledger-gateway/client/testing';
import { HttpResponse, http } from 'msw';
import { graphql } from 'msw/graphql';
import { setupServer } from 'msw/node';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { ledger, ledgerFetch } from './ledger.ts';
import { restartWrite } from './restart-write.ts';

const api = graphql.link(ledger.url);
const server = setupServer(
  // Queries have handlers of the app.
  api.query('Codes', () => HttpResponse.json({ data: { glCodes: null } })),
);
beforeAll(() => server.listen({ onUnhandledFrame: 'error' }));
afterEach(() => server.resetHandlers());
afterAll(() => server.close());

function startGateway(situation: Situation) {
  const gateway = createTestGateway({
    situation,
    done: { workflowAction: { __typename: 'WorkflowActionCompleted' } },
  });
  server.use(http.post(ledger.url, ({ request }) => gateway.respond(request)));
  return gateway;
}

/** Only so that a busy machine fails no test. */
const patient = { timeout: 20_000 };
const phase = () => restartWrite.getState().phase;

test('a write is lost, and done when the user asks again', async () => {
  const gateway = startGateway('lost');
  restartWrite.submit();
  await vi.waitFor(() => expect(phase()).toBe('unknown'), patient);
  gateway.situation = 'done';
  restartWrite.askAgain();
  await vi.waitFor(() => expect(phase()).toBe('done'), patient);
});

test.each([1, 2])('nothing is left of the test before: %s', async () => {
  const gateway = startGateway('lost');
  expect(phase()).toBe('idle');
  restartWrite.submit();
  await vi.waitFor(() => expect(phase()).toBe('unknown'), patient);
  expect(gateway.arrivals[0]?.kind).toBe('write');
});

test('a query reaches the handler of the app', async () => {
  startGateway('done');
  const body = JSON.stringify({ query: 'query Codes { glCodes { __typename } }' });
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  expect(await (await ledgerFetch(ledger.url, init)).json()).toEqual({ data: { glCodes: null } });
});
