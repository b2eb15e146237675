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

/** In the page: two clicks on a button whose listener creates an intent and a fetch, 100 ms apart. */
async function doubleClick({ url, token, options }: Run): Promise<unknown> {
  const { createLedgerFetch, newIntent, readField } = await import(`${location.origin}/index.js`);
  const click = async () => {
    const intent = newIntent();
    sessionStorage.setItem('intent', intent);
    const ledgerFetch = createLedgerFetch({ ...options, token: () => token });
    const query = 'mutation Click { workflowAction(action: RESTART) { __typename } }';
    const headers = { 'content-type': 'application/json', 'idempotency-key': intent };
    const response = await ledgerFetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query }),
    });
    return readField(await response.json(), 'workflowAction');
  };
  const first = click();
  await new Promise((resolve) => setTimeout(resolve, 100));
  return Promise.all([first, click()]);
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

  testHere('sends a double click once, and asks about it by either intent', async () => {
    stack.prepare([]);
    const done = { kind: 'member', member: { __typename: 'WorkflowActionCompleted' } };
    const options = { ...impatient, doubleClickMs: 500 };
    expect(await page.evaluate(doubleClick, { ...run, options })).toEqual([done, done]);
    expect(stack.arrivals()).toBe(1);

    await page.reload();
    expect(await page.evaluate(resume, run)).toMatchObject(done);
    // Another user signs in: the intent stays for its owner.
    const [header, , signature] = stack.token.split('.');
    const claims = Buffer.from('{"iss":"issuer","sub":"bob"}').toString('base64url');
    const ofBob = { ...run, token: [header, claims, signature].join('.') };
    expect(await page.evaluate(resume, ofBob)).toMatchObject({ kind: 'lost' });
  });

  testHere.each(faultCases)('survives $name', async ({ faults, result, arrivals }) => {
    stack.prepare(['none', ...faults]);
    expect(await page.evaluate(restart, run)).toMatchObject(result as object);
    expect(stack.arrivals()).toBe(arrivals);
  });
});
