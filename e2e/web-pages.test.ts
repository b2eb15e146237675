import { fileURLToPath } from 'node:url';
import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { Locator, Page } from 'playwright-core';
import { outcomeOf, startWebStack, type WebStack } from './web-stack.ts';
import { createUser, operations } from './web-user.ts';

const docs = fileURLToPath(new URL('../docs', import.meta.url));

let stack: WebStack;
let user: ReturnType<typeof createUser>;

beforeAll(async () => {
  stack = await startWebStack();
  user = createUser(stack);
});

beforeEach(() => stack.restart());

/** With `npm run screenshot`, updates a picture of the docs. */
async function updateScreenshot(page: Page, name: string): Promise<void> {
  if (process.env.UPDATE_SCREENSHOT !== '1') return;
  await page.setViewportSize({ width: 720, height: 640 });
  await page.screenshot({ path: `${docs}/${name}.png` });
}

const isFocused = (element: Element) => element === document.activeElement;

/** The text that a screen reader reads after the label of a field. */
async function descriptionOf(field: Locator): Promise<string> {
  return field.evaluate((element) =>
    (element.getAttribute('aria-describedby') ?? '')
      .split(' ')
      .map((id) => document.getElementById(id)?.textContent)
      .join(' '),
  );
}

/** The violations of accessibility rules that axe finds on the page as it is now. */
async function findViolations(page: Page) {
  return page.evaluate(async () => {
    const { axe } = window as unknown as { axe: typeof import('axe-core') };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
  });
}

test('a search among 5,000 codes shows the matches, which can be picked', async () => {
  const { page, visit } = stack;
  await visit('GL codes');
  await page.getByLabel('Project').fill('group');
  await page.getByRole('button', { name: 'Show codes' }).click();
  await page.getByText('100 of 5000 codes are shown.').waitFor();

  await page.getByLabel('Search in the list').fill('rent centre 4242');
  await page.getByText('1 code', { exact: true }).waitFor();
  expect(await page.getByRole('checkbox', { name: /cost centre/ }).count()).toBe(1);
  await page.getByRole('checkbox', { name: '14242' }).check();
  await page.getByLabel('Search in the list').fill('no such code');

  await page.getByText('0 codes').waitFor();
  await page.getByText('Picked: 14242').waitFor();
});

test('codes are listed for the chosen system', async () => {
  const { page, arrivals } = stack;
  await stack.visit('GL codes');
  const system = page.getByLabel('System');
  expect(await system.locator('option').count()).toBe(41);
  expect(await system.inputValue()).toBe('EMAIL');
  await system.selectOption('Electronic invoice');
  await page.getByLabel('Include hidden codes').check();
  await user.prepare['GL codes']();
  await user.send('GL codes');

  await page.getByText('Packaging').waitFor();
  expect(arrivals.at(-1)).toBe('/getGLCodes5?target=22&project=north-plant&includeHide=true');
  await page.getByLabel('Search in the list').fill('ing');
  await page.getByRole('checkbox', { name: '4020' }).check();
  await updateScreenshot(page, 'web-codes');
});

test('a problem does not replace the list from the last time, nor the picked codes', async () => {
  const { page } = stack;
  await stack.visit('GL codes');
  await user.prepare['GL codes']();
  await page.getByRole('button', { name: 'Show codes' }).click();
  await page.getByRole('checkbox', { name: '4020' }).check();

  const told = await user.run('GL codes', 'failed');

  expect(told).toContain('The ledger could not list the codes.');
  await page.getByText('These are the codes from the last time:').waitFor();
  expect(await page.getByText('Packaging').isVisible()).toBe(true);
  await page.getByText('Picked: 4020').waitFor();

  // Codes of another project are other codes.
  await stack.practise('');
  await page.getByLabel('Project').fill('harbour-office');
  await user.send('GL codes');
  await page.getByText('No codes are picked.').waitFor();
});

test('a workflow action that is not confirmed is not sent', async () => {
  const { page, arrivals } = stack;
  const before = arrivals.length;

  await stack.visit('Workflow actions');
  await user.prepare['Workflow actions']();
  await page.getByRole('heading', { name: 'Restart the workflow?' }).waitFor();
  // A second Enter does not run it.
  await page.keyboard.press('Enter');

  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect(arrivals.length).toBe(before);
  // The focus returns to the button.
  expect(await page.getByRole('button', { name: 'Run…' }).evaluate(isFocused)).toBe(true);
});

test('rows of a CSV file that could not be used are listed', async () => {
  const { page, visit } = stack;
  await visit('CSV upload');
  await user.chooseFile('name,email\nAda Example,ada@example.com\nNobody,\n');
  await user.send('CSV upload');

  await outcomeOf(page).getByText('Nobody,').waitFor();
  expect(await outcomeOf(page).textContent()).toContain('except for these rows');
});

test('the progress of an upload is shown', async () => {
  const { page, visit } = stack;
  await visit('CSV upload');
  const network = await page.context().newCDPSession(page);
  await network.send('Network.enable');
  const limits = { offline: false, latency: 0, downloadThroughput: -1 };
  const uploadThroughput = 1_000_000; // Bytes per second.
  await network.send('Network.emulateNetworkConditions', { ...limits, uploadThroughput });
  await user.chooseFile('Ada Example,ada@example.com\n'.repeat(18_000));
  await page.evaluate(() => {
    const shares: number[] = [];
    Object.assign(window, { shares });
    new MutationObserver(() => {
      const progress = document.querySelector('progress');
      if (progress && progress.value !== shares.at(-1)) shares.push(progress.value);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  await user.send('CSV upload');

  await outcomeOf(page).getByText('The file was processed.').waitFor();
  const shares = await page.evaluate(() => (window as unknown as { shares: number[] }).shares);
  expect(shares.length).toBeGreaterThan(2);
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(shares.at(-1)).toBe(100);
  await network.detach();
});

test('faults are shown beside their fields', async () => {
  const { page, arrivals } = stack;
  await stack.visit('Approvers');
  const before = arrivals.length;
  await page.getByRole('button', { name: 'Add an approver' }).click();
  const first = page.getByRole('group', { name: 'Approver 1' });
  const second = page.getByRole('group', { name: 'Approver 2' });
  await second.getByLabel('Approver number').fill('12a');
  await second.getByLabel('Workflow number').fill('x');
  await second.getByLabel('Email', { exact: true }).fill('ada at example.com');
  await page.getByRole('button', { name: 'Save approvers' }).click();
  // The form finds these faults by itself.
  const ofForm = [
    [first.getByLabel('Name', { exact: true }), 'Enter at least one field.'],
    [second.getByLabel('Email', { exact: true }), 'This is not an email address.'],
  ] as const;
  for (const [field, fault] of ofForm) expect(await descriptionOf(field)).toContain(fault);
  expect(await ofForm[0][0].evaluate(isFocused)).toBe(true);
  await first.getByLabel('Name', { exact: true }).fill('Ada');
  await second.getByLabel('Email', { exact: true }).fill('');
  await page.getByRole('button', { name: 'Save approvers' }).click();

  await outcomeOf(page).getByText('Nothing was saved.').waitFor();
  for (const label of ['Approver number', 'Workflow number']) {
    const field = second.getByLabel(label);
    expect(await field.getAttribute('aria-invalid')).toBe('true');
    expect(await descriptionOf(field)).toContain('This is not an integer.');
  }
  expect(await second.getByLabel('Name', { exact: true }).getAttribute('aria-invalid')).toBe(
    'false',
  );

  expect(arrivals.length).toBe(before);

  // A fault goes with the value that had it. The form finds this one by itself.
  await second.getByLabel('Approver number').fill('12');
  await second.getByLabel('Workflow number').fill('3');
  await second.getByLabel('Claim limit').fill('a lot');
  await page.getByRole('button', { name: 'Save approvers' }).click();
  const claimLimit = second.getByLabel('Claim limit');
  expect(await descriptionOf(claimLimit)).toContain('This is not a number.');
  expect(await claimLimit.evaluate(isFocused)).toBe(true);
  await claimLimit.fill('9007199254740993');
  await page.getByRole('button', { name: 'Save approvers' }).click();
  expect(await descriptionOf(claimLimit)).toContain('This has more than 15 digits.');
  expect(arrivals.length).toBe(before);
});

test('the fault of a file name is shown beside the file, and that of a project in the notice', async () => {
  const { page, visit } = stack;
  await visit('CSV upload');
  const buffer = Buffer.from('name,email\n');
  const file = { name: `${'x'.repeat(260)}.csv`, mimeType: 'text/csv', buffer };
  await page.getByLabel('CSV file').setInputFiles(file);
  await user.send('CSV upload');
  await outcomeOf(page).getByText('The file was not processed.').waitFor();
  expect(await descriptionOf(page.getByLabel('CSV file'))).toContain(
    'This has more than 255 characters.',
  );

  await visit('GL codes');
  await page.getByLabel('Project').fill('x'.repeat(1_025));
  await user.send('GL codes');
  await outcomeOf(page).getByText('project: This has more than 1024 characters.').waitFor();
});

test.each(['light', 'dark'] as const)('axe finds nothing on any page: %s', async (colorScheme) => {
  const { page, visit } = stack;
  await page.emulateMedia({ colorScheme });
  await page.reload();
  await page.evaluate(axe.source);
  await page.evaluate(() => document.fonts.ready);
  for (const operation of operations) {
    await visit(operation);
    expect(await findViolations(page)).toEqual([]);
    await user.run(operation, 'failed');
    expect(await findViolations(page)).toEqual([]);
  }
  // The other tones of a notice, a list, and the dialog.
  await user.run('Approvers', '');
  expect(await findViolations(page)).toEqual([]);
  await user.run('Approvers', 'reset');
  expect(await findViolations(page)).toEqual([]);
  if (colorScheme === 'light') await updateScreenshot(page, 'web-approvers');
  await stack.practise('');
  await visit('GL codes');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Packaging').waitFor();
  expect(await findViolations(page)).toEqual([]);
  await visit('Workflow actions');
  await user.prepare['Workflow actions']();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press('Escape');
});

test('no page scrolls sideways at a width of 420 pixels', async () => {
  const { page } = stack;
  await page.setViewportSize({ width: 420, height: 800 });
  for (const operation of operations) {
    await user.run(operation, 'failed');
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect([operation, width]).toEqual([operation, 420]);
  }
});
