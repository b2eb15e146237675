import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { speedUpTimeouts } from '../testkit/fast-timeouts.ts';
import { testIssuer } from '../testkit/issuer.ts';
import { outcomeOf, startWebStack, type WebStack } from './web-stack.ts';
import { createUser } from './web-user.ts';

let stack: WebStack;
let user: ReturnType<typeof createUser>;

beforeAll(async () => {
  speedUpTimeouts();
  stack = await startWebStack();
  user = createUser(stack);
});

beforeEach(async () => {
  stack.proxy.stall(0);
  await stack.restart();
  // Leaves a connection that can be used again.
  expect(await user.run('CSV upload', '')).toContain('The file was processed.');
});

/** Not the file of `user.run`: shortly after it, the same upload would be a double click. */
const otherFile = 'name,email\nBob Example,bob@example.com\n';

/** Waits until the page tells an outcome, while the clock of the page runs fast. */
async function waitForOutcome(title: string): Promise<void> {
  const heading = outcomeOf(stack.page).getByRole('heading', { name: title, exact: true });
  while (!(await heading.isVisible())) await stack.page.clock.runFor(1_000);
}

/** Small enough for the buffers of the network, and too large for them. */
test.each([1_000, 10_000_000])(
  'an upload of %i bytes that stalls gets a 408 that the page can read',
  async (length) => {
    const { page, proxy, arrivals } = stack;
    const token = await (await testIssuer()).token();
    const before = arrivals.length;
    proxy.stall(2);

    const response = await page.evaluate(
      async ({ url, token, length }) => {
        const query = `mutation ($input: WorkflowCsvInput!) {
          uploadWorkflowCsv(input: $input) { __typename }
        }`;
        const variables = { input: { fileName: 'a.csv', csv: 'x'.repeat(length) } };
        const response = await fetch(`${url}graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify({ query, variables }),
        });
        const { status, type, headers } = response;
        const contentType = headers.get('content-type');
        return { status, type, contentType, body: await response.json() };
      },
      { url: proxy.url, token, length },
    );

    expect(response).toEqual({
      status: 408,
      type: 'cors',
      contentType: expect.stringMatching(/^application\/json;/),
      body: {
        errors: [
          {
            message: 'The request arrived too slowly, and was not executed.',
            extensions: {
              code: 'REQUEST_TIMEOUT',
              retryable: true,
              requestId: expect.stringMatching(/^[\w-]{36}$/),
            },
          },
        ],
      },
    });
    // After a 408 on a connection that it had used, the browser itself sends the request once more.
    expect(proxy.stalled).toEqual([{ wasReused: true }, { wasReused: false }]);
    expect(arrivals.slice(before)).toEqual([]);
  },
);

test('an upload that stalls is repeated by the browser and by the app, and arrives once', async () => {
  const { page, proxy, arrivals } = stack;
  const before = arrivals.length;
  await user.chooseFile(otherFile);
  const statuses: number[] = [];
  page.on('response', (response) => {
    if (response.request().method() === 'POST') statuses.push(response.status());
  });
  proxy.stall(3);

  await user.send('CSV upload');

  await page.getByText('The ledger cannot take it').waitFor();
  await outcomeOf(page).getByText('The file was processed.', { exact: true }).waitFor();
  expect(statuses).toEqual([408, 408, 200]);
  expect(proxy.stalled).toHaveLength(3);
  expect(arrivals.slice(before)).toEqual([expect.stringMatching(/^\/updateWorkflowCSV/)]);
});

test('while the connection stays slow, the page says so, and asking again tells that nothing was done', async () => {
  const { page, proxy, arrivals } = stack;
  const before = arrivals.length;
  await user.chooseFile(otherFile);
  proxy.stall(Number.POSITIVE_INFINITY);

  await user.send('CSV upload');
  await waitForOutcome('We do not know yet whether the file was processed.');
  expect(arrivals.slice(before)).toEqual([]);

  proxy.stall(0);
  await page.getByRole('button', { name: 'Ask again' }).click();
  await outcomeOf(page).getByRole('heading', { name: 'The file was not processed.' }).waitFor();
  expect(arrivals.slice(before)).toHaveLength(0);
  await user.send('CSV upload');
  await outcomeOf(page).getByText('The file was processed.', { exact: true }).waitFor();
  expect(arrivals.slice(before)).toHaveLength(1);
});

test('an error of a request that the browser itself repeated does not hide the effect of the first', async () => {
  const { page, proxy, arrivals } = stack;
  const before = arrivals.length;
  await user.chooseFile(otherFile);
  proxy.lose(1);
  proxy.stall(Number.POSITIVE_INFINITY);

  await user.send('CSV upload');
  await waitForOutcome('We do not know yet whether the file was processed.');

  proxy.stall(0);
  await page.getByRole('button', { name: 'Ask again' }).click();
  await outcomeOf(page).getByText('The file was processed.', { exact: true }).waitFor();
  expect(proxy.lost).toEqual([{ wasReused: true }]);
  expect(arrivals.slice(before)).toHaveLength(1);
});
