import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { startTestGateway, write } from './helper.ts';
import { startHeldService } from './upstream/held.ts';

/** As many as are executed whatever the event loop says. */
const MANY = 64;

const readOf = (n: number) => ({
  query: `{ glCodes(target: EMAIL, project: "p${n}") { __typename } }`,
});

/** Nothing else runs meanwhile: the event loop is late by so many milliseconds. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

/** Holds the event loop up for longer than a sample takes, several times, and posts. */
async function postLate(gateway: Awaited<ReturnType<typeof startTestGateway>>, body: unknown) {
  for (let turn = 0; turn < 6; turn++) {
    block(300);
    await immediate();
  }
  return gateway.post(body);
}

test('a late event loop with many requests being executed turns more away, until it is over', async () => {
  const service = await startHeldService();
  const gateway = await startTestGateway(service);
  const executing = Array.from({ length: MANY }, (_, n) => gateway.post(readOf(n)));
  await service.arrived(MANY);

  const refused = await postLate(gateway, { query: write });
  expect(refused.status).toBe(503);
  expect(refused.headers.get('retry-after')).toBe('1');
  expect(JSON.parse(refused.text)).toMatchObject({
    errors: [{ extensions: { code: 'OVERLOADED', retryable: true } }],
  });
  expect((await fetch(`${gateway.url}/livez`)).status).toBe(200);
  expect(service.calls).toHaveLength(MANY);

  service.release();
  for (const { status } of await Promise.all(executing)) expect(status).toBe(200);
  expect((await gateway.post({ query: write })).status).toBe(200);
  expect(service.calls).toHaveLength(MANY + 1);
});

test('a late event loop alone turns nobody away', async () => {
  const service = await startHeldService();
  service.release();
  const gateway = await startTestGateway(service);
  expect((await postLate(gateway, readOf(0))).status).toBe(200);
});
