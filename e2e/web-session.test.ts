import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { outcomeOf, startWebStack, type WebStack } from './web-stack.ts';
import { createUser } from './web-user.ts';

let stack: WebStack;
let user: ReturnType<typeof createUser>;

beforeAll(async () => {
  stack = await startWebStack();
  user = createUser(stack);
});

beforeEach(async () => {
  await stack.restart();
  await stack.visit('GL codes');
  await user.prepare['GL codes']();
  await user.send('GL codes');
  await stack.page.getByRole('checkbox', { name: '4020' }).check();
});

const isFocused = (element: Element) => element === document.activeElement;

test.each(['http-403', 'not-permitted'] as const)(
  '%s: the codes that a user may not see leave the page',
  async (scenario) => {
    const { page, practise } = stack;
    await practise(scenario);
    await user.send('GL codes');
    await outcomeOf(page).getByText('You are not permitted to list the codes.').waitFor();
    expect(await page.getByText('Packaging').isVisible()).toBe(false);
    expect(await page.getByText('picked').isVisible()).toBe(false);
    expect(await page.getByText('These are the codes from the last time').isVisible()).toBe(false);
  },
);

test('sign-out keeps nothing that the user entered or saw', async () => {
  const { page, visit } = stack;
  await visit('Approvers');
  await user.prepare.Approvers();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByText('You are signed out.').waitFor();
  expect(await page.getByRole('heading').evaluate(isFocused)).toBe(true);
  expect(await page.title()).toBe('Signed out – Ledger desk');
  const stored = await page.evaluate(() => JSON.stringify([sessionStorage, localStorage]));
  expect(stored).not.toContain('Ada');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.locator('h1:focus').waitFor();

  expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('');
  await visit('GL codes');
  expect(await page.getByText('Packaging').isVisible()).toBe(false);
});

test('each step has a title, and keeps the focus', async () => {
  const { page, visit } = stack;
  await visit('Approvers');
  expect(await page.title()).toBe('Approvers – Ledger desk');
  await page.getByRole('button', { name: 'Add an approver' }).click();
  const second = page.getByRole('group', { name: 'Approver 2' });
  expect(await second.getByLabel('Name', { exact: true }).evaluate(isFocused)).toBe(true);
  await page.getByRole('button', { name: 'Remove approver 2' }).click();
  const first = page.getByRole('group', { name: 'Approver 1' });
  expect(await first.getByLabel('Name', { exact: true }).evaluate(isFocused)).toBe(true);
  await user.run('Approvers', 'failed');
  await page.getByRole('button', { name: 'Close' }).click();
  const heading = page.getByRole('heading', { name: 'Approvers', level: 1 });
  expect(await heading.evaluate(isFocused)).toBe(true);
});

test('50,000 codes neither freeze the page nor fill its memory', async () => {
  const { page } = stack;
  await page.evaluate(() => {
    const tasks: number[] = [];
    Object.assign(window, { tasks });
    new PerformanceObserver((list) =>
      tasks.push(...list.getEntries().map(({ duration }) => duration)),
    ).observe({ type: 'longtask' });
  });

  await page.getByLabel('Project').fill('group');
  await user.send('GL codes');
  await page.getByText('50,000 codes').waitFor();
  await page.getByLabel('Search', { exact: true }).fill('centre 4242');
  await page.getByRole('checkbox', { name: /^14242 / }).waitFor();

  const tasks = await page.evaluate(() => (window as unknown as { tasks: number[] }).tasks);
  expect(Math.max(0, ...tasks)).toBeLessThan(300);
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  expect(usedSize).toBeLessThan(80_000_000);
});
