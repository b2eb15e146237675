import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { testIssuer } from '../testkit/issuer.ts';
import { outcomeOf, startWebStack, type WebStack } from './web-stack.ts';

let stack: WebStack;

beforeAll(async () => {
  stack = await startWebStack();
});

beforeEach(async () => {
  stack.proxy.lose(0);
  await stack.restart();
  await stack.visit('Approvers');
});

/** What a user does to save an approver. */
async function save(name: string): Promise<void> {
  const { page } = stack;
  await page.getByLabel('Name', { exact: true }).fill(name);
  await page.getByRole('button', { name: 'Save approvers' }).click();
}

test('one click is one arrival at the service, although the kept connection breaks each time', async () => {
  const { page, proxy, arrivals, service } = stack;
  await save('warm-up');
  await outcomeOf(page).getByText('The approvers were saved.').waitFor();

  for (let click = 1; click <= 10; click += 1) {
    const before = arrivals.length;
    // One loss is repeated by the browser itself. With two or three, the link of the app repeats as well.
    const losses = 1 + (click % 3);
    proxy.lose(losses);

    await save(`Approver ${click}`);

    await outcomeOf(page).getByText('The approvers were saved.').waitFor();
    expect(await outcomeOf(page).textContent()).toContain('Approvers saved: 1.');
    expect(proxy.lost.length).toBe(losses);
    expect(proxy.lost[0]).toEqual({ wasReused: true });
    expect(arrivals.slice(before)).toEqual(['/saveApproverList']);
  }
  expect(service.approvers().map(({ name }) => name)).toEqual([
    'warm-up',
    ...Array.from({ length: 10 }, (_, index) => `Approver ${index + 1}`),
  ]);
});

test('without a key, the browser itself makes two arrivals of one request', async () => {
  const { page, proxy, arrivals } = stack;
  const token = await (await testIssuer()).token();
  const mutate = () =>
    page.evaluate(
      async ({ url, token }) => {
        const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
        const response = await fetch(`${url}graphql`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify({ query }),
        });
        await response.text(); // The connection can be used again only after that.
        return response.status;
      },
      { url: proxy.url, token },
    );
  await mutate(); // Leaves a connection that can be used again.
  const before = arrivals.length;
  proxy.lose(1);

  expect(await mutate()).toBe(200);

  expect(proxy.lost).toEqual([{ wasReused: true }]);
  expect(arrivals.slice(before)).toEqual(['/restartWorkflow2', '/restartWorkflow2']);
});

test('an upload and a workflow action survive a broken connection, too', async () => {
  const { page, proxy, arrivals, visit } = stack;
  const before = arrivals.length;
  await visit('CSV upload');
  const buffer = Buffer.from('name,email\nAda,ada@example.com\n');
  await page
    .getByLabel('CSV file')
    .setInputFiles({ name: 'approvers.csv', mimeType: 'text/csv', buffer });
  proxy.lose(2);
  await page.getByRole('button', { name: 'Upload the file' }).click();
  await outcomeOf(page).getByText('The file was processed.').waitFor();
  expect(proxy.lost.length).toBe(2);

  await visit('Workflow actions');
  proxy.lose(2);
  await page.getByRole('button', { name: 'Run…' }).click();
  await page.getByRole('button', { name: 'Yes, ' }).click();
  await outcomeOf(page).getByText('The workflow was restarted.').waitFor();
  expect(proxy.lost.length).toBe(2);

  expect(arrivals.slice(before)).toEqual([
    expect.stringMatching(/^\/updateWorkflowCSV/),
    '/restartWorkflow2',
  ]);
});

test('with lost responses under "Practice", a save is repeated and arrives once', async () => {
  const { page, practise, arrivals } = stack;
  await practise('lost-responses');
  const before = arrivals.length;

  await save('Ada');

  await page.getByText(trying).waitFor();
  await outcomeOf(page).getByText('The approvers were saved.').waitFor();
  expect(arrivals.slice(before)).toEqual(['/saveApproverList']);
});

/** Waits until the page asks what became of the write, while its clock runs fast. */
async function waitForOutcome(title: string): Promise<void> {
  const heading = outcomeOf(stack.page).getByRole('heading', { name: title });
  while (!(await heading.isVisible())) await stack.page.clock.runFor(1_000);
}

const trying = 'No answer yet. We are trying again; it is not done a second time.';

test('while the connection stays broken, the page says so, and asks again without sending', async () => {
  const { page, proxy, arrivals } = stack;
  const before = arrivals.length;
  proxy.lose(Number.POSITIVE_INFINITY);

  await save('Ada');
  await waitForOutcome('We do not know yet whether the approvers were saved.');
  // A second save could be a second effect.
  expect(await page.getByRole('button', { name: 'Save approvers' }).isDisabled()).toBe(true);
  expect(await page.getByRole('button', { name: /Close|I have checked/ }).isVisible()).toBe(false);

  proxy.lose(0);
  await page.getByRole('button', { name: 'Ask again' }).click();
  await outcomeOf(page).getByText('The approvers were saved.').waitFor();
  expect(arrivals.slice(before)).toEqual(['/saveApproverList']);
});

test.each([
  ['IN_PROGRESS', 'The ledger has not answered yet.'],
  ['ORPHANED', 'We could not learn whether the approvers were saved.'],
])('%s: the page offers to ask again, and tells that nothing was done', async (code, title) => {
  const { page } = stack;
  const outcome = { __typename: 'LedgerOutcomeUnknown', message: '', code, requestId: '7' };
  let writes = [{ responseName: 'saveApprovers', outcome }];
  // Outcomes that only the end of a process or a very slow service causes.
  await page.route('**/graphql', async (route) => {
    if (route.request().method() === 'OPTIONS') return route.continue();
    const data = route.request().postData()?.includes('settleWrites')
      ? { settleWrites: { isComplete: true, keyArrived: true, writes } }
      : { __typename: 'Mutation', saveApprovers: outcome };
    return route.fulfill({ json: { data } });
  });

  await save('Ada');
  await waitForOutcome(title);
  writes = [];
  await page.getByRole('button', { name: 'Ask again' }).click();

  await outcomeOf(page).getByRole('heading', { name: 'Nothing was saved.' }).waitFor();
  expect(await page.getByRole('button', { name: 'Ask again' }).isVisible()).toBe(false);
  await page.unroute('**/graphql');
});

test('a write that is open when the page reloads has its outcome after it', async () => {
  const { page, proxy, arrivals } = stack;
  const before = arrivals.length;
  proxy.lose(Number.POSITIVE_INFINITY);
  await save('Ada');
  await page.getByText(trying).waitFor();

  await page.reload();
  proxy.lose(0);

  const notice = outcomeOf(page);
  await notice.getByText('The approvers were saved.').waitFor();
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Ada');
  expect(arrivals.slice(before)).toEqual(['/saveApproverList']);

  // What is known is not shown again.
  await page.reload();
  await page.getByRole('button', { name: 'Save approvers' }).waitFor();
  expect(await notice.isVisible()).toBe(false);
});

test('after a reload, the page names the workflow action that it asks about', async () => {
  const { page, proxy, arrivals, visit } = stack;
  await visit('Workflow actions');
  const before = arrivals.length;
  proxy.lose(Number.POSITIVE_INFINITY);
  await page.getByLabel('Upgrade to HQ').check();
  await page.getByRole('button', { name: 'Run…' }).click();
  await page.getByRole('button', { name: 'Yes, ' }).click();
  await page.getByText(trying).waitFor();

  await page.reload();
  proxy.lose(0);

  await outcomeOf(page).getByText('The account was upgraded to HQ.').waitFor();
  expect(arrivals.slice(before)).toEqual(['/upgradeToHQ']);
});

test.each([
  ['during an upload of 12 MiB', true, 'The file was not processed.', 0],
  ['after an upload of 12 MiB whose response was lost', false, 'The file was processed.', 1],
])(
  'a reload %s ends in its outcome, and nothing is uploaded again',
  async (_, isStalled, title, effects) => {
    const { page, proxy, arrivals, visit } = stack;
    await visit('CSV upload');
    const before = arrivals.length;
    const buffer = Buffer.alloc(12_582_911, 'name,email\n');
    const file = { name: 'approvers.csv', mimeType: 'text/csv', buffer };
    await page.getByLabel('CSV file').setInputFiles(file);
    if (isStalled) proxy.stall(1);
    else proxy.lose(Number.POSITIVE_INFINITY);
    await page.getByRole('button', { name: 'Upload the file' }).click();
    await page
      .getByText(isStalled ? 'Sending the file:' : 'We are asking what became of it.')
      .waitFor({ timeout: 60_000 });
    if (isStalled) while (proxy.stalled.length === 0) await page.evaluate(() => {});
    proxy.lose(0);
    const sizes: number[] = [];
    page.on('request', (request) => sizes.push(request.postDataBuffer()?.length ?? 0));

    await page.reload();

    await outcomeOf(page).getByRole('heading', { name: title }).waitFor();
    expect(arrivals.slice(before)).toHaveLength(effects);
    expect(Math.max(...sizes)).toBeLessThan(2_000);
    page.removeAllListeners('request');
  },
  120_000,
);

test('a write that is cancelled ends in its outcome', async () => {
  const { page, proxy, arrivals } = stack;
  const before = arrivals.length;
  proxy.stall(1);
  await save('Ada');
  while (proxy.stalled.length === 0) await page.evaluate(() => {});

  // It ignores what may be the second click of a double click.
  const cancel = page.getByRole('button', { name: 'Cancel' });
  while (await cancel.isVisible()) await cancel.dispatchEvent('click');

  await outcomeOf(page).getByRole('heading', { name: 'Nothing was saved.' }).waitFor();
  expect(arrivals.slice(before)).toEqual([]);
});
