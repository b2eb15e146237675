import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startTestGateway } from '../support/gateway.ts';
import { write } from '../support/graphql-operation.ts';
import { startHeldService } from '../support/held-service.ts';

/** The number of requests that are always admitted. */
const ALWAYS_ADMITTED = 64;

const readOf = (n: number) => ({
  query: `{ glCodes(target: EMAIL, project: "p${n}") { __typename } }`,
});

/** Blocks the event loop for this many milliseconds. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Blocks the event loop for several samples in a row, and then posts a request. */
async function postAfterBlocking(
  gateway: Awaited<ReturnType<typeof startTestGateway>>,
  body: unknown,
) {
  for (let turn = 0; turn < 6; turn++) {
    block(300);
    await immediate();
  }
  return gateway.post(body);
}

test('while the event loop is delayed and many requests are executed, further requests are rejected', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const executing = Array.from({ length: ALWAYS_ADMITTED }, (_, n) => gateway.post(readOf(n)));
  await service.arrived(ALWAYS_ADMITTED);

  const rejected = await postAfterBlocking(gateway, { query: write });
  expect(rejected.status).toBe(503);
  expect(rejected.headers.get('retry-after')).toBe('1');
  expect(JSON.parse(rejected.text)).toMatchObject({
    errors: [{ extensions: { code: 'OVERLOADED', retryable: true } }],
  });
  expect((await fetch(`${gateway.url}/livez`)).status).toBe(200);
  expect(service.requests).toHaveLength(ALWAYS_ADMITTED);

  service.release();
  for (const { status } of await Promise.all(executing)) expect(status).toBe(200);
  expect((await gateway.post({ query: write })).status).toBe(200);
  expect(service.requests).toHaveLength(ALWAYS_ADMITTED + 1);
});

test('a delayed event loop alone does not reject requests', async () => {
  const service = await startHeldService();
  service.release();
  const gateway = await startTestGateway(service);
  expect((await postAfterBlocking(gateway, readOf(0))).status).toBe(200);
});
