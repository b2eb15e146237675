import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { testIssuer } from '../test/support/issuer.ts';
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
  await page.getByRole('button', { name: 'Yes, run it' }).click();
  await outcomeOf(page).getByText('The workflow was restarted.').waitFor();
  expect(proxy.lost.length).toBe(2);

  expect(arrivals.slice(before)).toEqual([
    expect.stringMatching(/^\/updateWorkflowCSV/),
    '/restartWorkflow2',
  ]);
});

test('while the connection stays broken, the page tells so, and asks again with the same key', async () => {
  const { page, proxy, arrivals } = stack;
  await page.clock.install();
  const before = arrivals.length;
  proxy.lose(Number.POSITIVE_INFINITY);

  await save('Ada');
  const notice = page.getByRole('heading', { name: 'We do not know yet whether' });
  while (!(await notice.isVisible())) await page.clock.runFor(1_000);
  // A second save could be a second effect.
  expect(await page.getByRole('button', { name: 'Save approvers' }).isDisabled()).toBe(true);

  proxy.lose(0);
  await page.getByRole('button', { name: 'Ask again' }).click();
  await outcomeOf(page).getByText('The approvers were saved.').waitFor();
  expect(arrivals.slice(before)).toEqual(['/saveApproverList']);
});

test.each([
  ['IN_PROGRESS', 'The ledger is still working on it.'],
  ['ORPHANED', 'We could not learn whether the approvers were saved.'],
])('%s: the page offers to ask again with the same key', async (code, title) => {
  const { page } = stack;
  await page.clock.install();
  const keys = new Set<string | undefined>();
  const member = { __typename: 'LedgerOutcomeUnknown', message: '', code, requestId: '7' };
  // An outcome that only the end of a process or a very slow service causes.
  await page.route('**/graphql', async (route) => {
    if (route.request().method() === 'OPTIONS') return route.continue();
    keys.add(route.request().headers()['idempotency-key']);
    return route.fulfill({ json: { data: { __typename: 'Mutation', saveApprovers: member } } });
  });

  await save('Ada');
  const notice = outcomeOf(page).getByRole('heading', { name: title });
  while (!(await notice.isVisible())) await page.clock.runFor(1_000);
  await page.unroute('**/graphql');
  await page.route('**/graphql', (route) => {
    keys.add(route.request().headers()['idempotency-key']);
    return route.continue();
  });
  await page.getByRole('button', { name: 'Ask again' }).click();

  await outcomeOf(page).getByText('The approvers were saved.').waitFor();
  expect(keys.size).toBe(1);
  await page.unroute('**/graphql');
});

test('a write that is open when the page reloads is shown, and asked about with the same key', async () => {
  const { page, proxy, arrivals } = stack;
  const before = arrivals.length;
  proxy.lose(Number.POSITIVE_INFINITY);
  await save('Ada');
  await page.getByText('No answer yet. We are asking what became of it').waitFor();

  await page.reload();

  const notice = outcomeOf(page);
  await notice.getByText('We do not know yet whether the approvers were saved.').waitFor();
  expect(await page.getByRole('button', { name: 'Save approvers' }).isDisabled()).toBe(true);
  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('Ada');
  proxy.lose(0);
  await page.getByRole('button', { name: 'Ask again' }).click();
  await notice.getByText('The approvers were saved.').waitFor();
  expect(await notice.textContent()).toContain('Approvers saved: 1.');
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
  await page.getByRole('button', { name: 'Yes, run it' }).click();
  await page.getByText('No answer yet. We are asking what became of it').waitFor();

  await page.reload();

  await outcomeOf(page)
    .getByText('We do not know yet whether the account was upgraded to HQ.')
    .waitFor();
  proxy.lose(0);
  await page.getByRole('button', { name: 'Ask again' }).click();
  await outcomeOf(page).getByText('The account was upgraded to HQ.').waitFor();
  expect(arrivals.slice(before)).toEqual(['/upgradeToHQ']);
});

test('after a reload, the page does not offer to ask about a large file or an old key', async () => {
  const { page, proxy, visit } = stack;
  const advice = 'Please check in the ledger before you do it again.';
  const askAgain = outcomeOf(page).getByRole('button', { name: 'Ask again' });
  proxy.lose(Number.POSITIVE_INFINITY);
  await save('Ada');
  await page.getByText('No answer yet. We are asking what became of it').waitFor();
  await visit('CSV upload');
  const buffer = Buffer.alloc(6_000_000, 'name,email\n');
  const file = { name: 'approvers.csv', mimeType: 'text/csv', buffer };
  await page.getByLabel('CSV file').setInputFiles(file);
  await page.getByRole('button', { name: 'Upload the file' }).click();
  await page.getByText('No answer yet. We are asking').and(page.locator(':visible')).waitFor();

  await page.reload();
  await outcomeOf(page).getByText('We do not know yet whether the file was processed.').waitFor();
  expect(await outcomeOf(page).textContent()).toContain(advice);
  expect(await askAgain.isVisible()).toBe(false);
  await visit('Approvers');
  expect(await askAgain.isVisible()).toBe(true);

  await page.clock.setSystemTime(Date.now() + 24 * 60 * 60_000);
  await page.reload();
  await visit('Approvers');
  expect(await outcomeOf(page).textContent()).toContain(advice);
  expect(await askAgain.isVisible()).toBe(false);
});
