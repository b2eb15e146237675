import { beforeAll, describe, expect, test } from '@jest/globals';
import { faultCases, impatient, startFaultStack } from '../test/support/client-faults.ts';
import { startHttpServer } from '../test/support/http-server.ts';
import { browsers, type Page, type Run, restart, servePackage } from './client-page.ts';

/** In the page after a reload: asks what became of the mutation. */
async function resume({ url, token, options }: Run): Promise<unknown> {
  const { settle, readField } = await import(`${location.origin}/index.js`);
  const intent = sessionStorage.getItem('intent');
  const settled = await settle(intent, { ...options, url, token: () => token });
  return readField(settled, 'workflowAction');
}

describe.each(browsers)('$name', ({ isMissing, open }) => {
  let stack: Awaited<ReturnType<typeof startFaultStack>>;
  let page: Page;
  let run: Run;

  beforeAll(async () => {
    if (isMissing) return;
    const { origin: address } = await startHttpServer(({ url = '/' }, response) =>
      servePackage(url, response),
    );
    const origin = address.replace('127.0.0.1', 'localhost');
    stack = await startFaultStack({ CORS_ORIGINS: origin });
    page = await open();
    await page.goto(origin);
    run = { url: stack.url, token: stack.token, options: impatient };
  });

  const testHere = isMissing ? test.skip : test;

  testHere('learns after a reload what became of a mutation', async () => {
    stack.prepare(['none', 'stall', 'cut']);
    await page.evaluate(restart, { ...run, isLeft: true });
    await stack.arrived();
    await page.reload();

    expect(await page.evaluate(resume, run)).toMatchObject({
      member: { __typename: 'WorkflowActionCompleted' },
    });
    expect(stack.arrivals()).toBe(1);
  });

  testHere.each(faultCases)('survives $name', async ({ faults, result, arrivals }) => {
    stack.prepare(['none', ...faults]);
    expect(await page.evaluate(restart, run)).toMatchObject(result as object);
    expect(stack.arrivals()).toBe(arrivals);
  });
});
