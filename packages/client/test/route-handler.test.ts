import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { startHttpServer } from '../../../testkit/http-server.ts';
import { createRoute } from '../examples/route-handler.ts';
import { createLedgerFetch, createWrite } from '../src/index.ts';
import {
  cut,
  type Data,
  executed,
  notExecuted,
  type Reply,
  saved,
  startStubGateway,
} from './stub-gateway.ts';

/** Starts a gateway, and a server whose route passes requests on to it. Returns how the write of a page ends. */
async function start(replies: Reply[], settling: Reply) {
  const gateway = await startStubGateway(replies, settling);
  const POST = createRoute(gateway.origin, async () => 'token-of-the-session');
  const { origin } = await startHttpServer(async (request, response) => {
    const headers = Object.entries(request.headersDistinct).map(
      ([name, values]): [string, string] => [name, `${values}`],
    );
    const body = await text(request);
    const passed = await POST(new Request(origin, { method: 'POST', headers, body })).catch(
      () => new Response(null, { status: 500 }),
    );
    response.writeHead(passed.status, [...passed.headers].flat()).end(await passed.text());
  });
  const soon = { delayMs: 2, patienceMs: 50, attemptMs: 1_000, doubleClickMs: 0 };
  const ledger = { url: `${origin}/api/graphql`, ...soon };
  const ledgerFetch = createLedgerFetch(ledger);
  const write = createWrite({
    ...ledger,
    field: 'save',
    async send(headers): Promise<{ data?: Data }> {
      const body = JSON.stringify({ query: 'mutation { save { __typename } }' });
      return (await ledgerFetch(ledger.url, { method: 'POST', headers, body })).json();
    },
  });
  const end = new Promise((resolve) => {
    write.subscribe((state) => {
      if (!/idle|sending|asking/.test(state.phase)) resolve(state);
    });
  });
  write.submit();
  return { ...gateway, state: await end };
}

test('a write that is lost behind the route is repeated with its key and its age', async () => {
  const { state, kinds, keys, ages, requests } = await start([cut, saved], notExecuted);
  expect(state).toMatchObject({ phase: 'done' });
  expect(kinds()).toEqual(['mutation', 'mutation']);
  expect(keys()[1]).toBe(keys()[0]);
  expect(Number(ages()[1])).toBeGreaterThan(0);
  expect(requests[0]?.headers.authorization).toBe('Bearer token-of-the-session');
});

test('the page asks for the outcome through the route', async () => {
  const { state, kinds, keys } = await start([cut], executed);
  expect(state).toMatchObject({ phase: 'done' });
  expect(kinds().at(-1)).toBe('settle');
  expect(new Set(keys()).size).toBe(1);
});
