import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { findViolations } from './accessibility.ts';
import { updateScreenshot } from './browser.ts';
import { outcomeOf, startWebStack, type WebStack } from './web-stack.ts';
import { createUser, operations } from './web-user.ts';

let stack: WebStack;
let user: ReturnType<typeof createUser>;

beforeAll(async () => {
  stack = await startWebStack();
  user = createUser(stack);
});

beforeEach(() => stack.restart());

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

test('50,000 codes are searched and paged by the gateway, and picked from any page', async () => {
  const { page, visit } = stack;
  const sizes: Promise<number>[] = [];
  page.on('response', (response) => {
    if (response.request().method() !== 'POST') return;
    sizes.push(response.body().then(({ length }) => length));
  });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await visit('GL codes');
  await page.getByLabel('Project').fill('group');
  await page.keyboard.press('Enter');
  await page.getByText('50,000 codes: 1 to 20').waitFor();

  // A button that can do nothing keeps the focus.
  const next = page.getByRole('button', { name: 'Next' });
  await next.press('Enter');
  await page.getByText('50,000 codes: 21 to 40').waitFor();
  expect(await next.evaluate(isFocused)).toBe(true);
  await page.getByRole('checkbox', { name: '10021' }).check();
  await page.getByRole('button', { name: 'Previous' }).press('Enter');
  await page.getByText('50,000 codes: 1 to 20').waitFor();
  expect(await page.getByRole('button', { name: 'Previous' }).evaluate(isFocused)).toBe(true);

  const search = page.getByLabel('Search', { exact: true });
  await search.fill('4242 CENTRE');
  await page.getByText('25 of 50,000 codes for “4242 CENTRE”').waitFor();
  await page.getByRole('checkbox', { name: /^14242 / }).check();
  await search.fill('no such code');
  await page.getByText('0 of 50,000 codes for').waitFor();

  await page.getByRole('button', { name: 'Copy the numbers' }).click();
  await page.getByText('Copied: 10021, 14242').waitFor();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe('10021\n14242');
  expect(Math.max(...(await Promise.all(sizes)))).toBeLessThan(5_000);
  page.removeAllListeners('response');
});

test('a response that is late does not replace that of a later search', async () => {
  const { page, visit } = stack;
  await visit('GL codes');
  await user.prepare['GL codes']();
  await user.send('GL codes');
  await page.getByText('14 codes').waitFor();
  const held = Promise.withResolvers<void>();
  await page.route('**/graphql', async (route) => {
    if (route.request().postData()?.includes('"ing"')) await held.promise;
    await route.continue().catch(() => undefined);
  });
  const search = page.getByLabel('Search', { exact: true });
  const asked = page.waitForRequest((request) => !!request.postData()?.includes('"ing"'));
  await search.fill('ing');
  await asked;
  const dropped = page.waitForEvent('requestfailed');
  await search.fill('freight');
  await dropped;
  held.resolve();
  await page.getByText('1 of 14 codes for “freight”').waitFor();
  expect(await page.getByRole('checkbox', { name: '4110' }).isVisible()).toBe(true);
  await page.unroute('**/graphql');
});

test('codes are listed for the chosen system', async () => {
  const { page, arrivals } = stack;
  await stack.visit('GL codes');
  const system = page.getByLabel('System');
  const list = await system.getAttribute('list');
  expect(await page.locator(`[id="${list}"] option`).count()).toBe(41);
  expect(await system.inputValue()).toBe('Email');
  await user.prepare['GL codes']();
  await system.fill('electronic');
  await user.send('GL codes');
  expect(await descriptionOf(system)).toContain('Choose a system of the list.');
  expect(await system.evaluate(isFocused)).toBe(true);
  await system.fill('Electronic invoice');
  await user.send('GL codes');
  await page.getByText('14 codes').waitFor();
  await page.getByLabel('Include hidden codes').check();

  await page.getByText('16 codes').waitFor();
  expect(arrivals.at(-1)).toBe('/getGLCodes5?target=22&project=north-plant&includeHide=true');
  await page.getByLabel('Search', { exact: true }).fill('ing');
  await page.getByText('of 16 codes for “ing”').waitFor();
  await page.getByRole('checkbox', { name: '4020' }).check();
  await updateScreenshot(page, 'web-codes', 985);
});

test('a problem does not replace the list from the last time, nor the picked codes', async () => {
  const { page } = stack;
  await stack.visit('GL codes');
  await user.prepare['GL codes']();
  await page.getByRole('button', { name: 'Show codes' }).click();
  await page.getByRole('checkbox', { name: '4020' }).check();

  const told = await user.run('GL codes', 'failed');

  expect(told).toContain('The ledger could not list the codes.');
  await page.getByText('These are the codes from the last time.').waitFor();
  expect(await page.getByRole('checkbox', { name: '4020' }).isVisible()).toBe(true);
  await page.getByText('1 code is picked').waitFor();

  // Codes of another project are other codes.
  await stack.practise('');
  await page.getByLabel('Project').fill('harbour-office');
  await user.send('GL codes');
  await page.getByText('No codes are picked').waitFor();
});

test('a workflow action that is not confirmed is not sent', async () => {
  const { page, arrivals } = stack;
  const before = arrivals.length;

  await stack.visit('Workflow actions');
  await user.prepare['Workflow actions']();
  await page.getByRole('heading', { name: 'Restart the workflow?' }).waitFor();
  await page.getByRole('button', { name: 'Yes, restart the workflow' }).waitFor();
  await page.getByText('The request does not name the workflow').waitFor();
  // "Cancel" is only what ends a request.
  expect(await page.getByRole('button', { name: 'Cancel' }).isVisible()).toBe(false);
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

test('a double click uploads once', async () => {
  const { page, visit, arrivals } = stack;
  await visit('CSV upload');
  const before = arrivals.length;
  await user.chooseFile('Ada Example,ada@example.com\n'.repeat(100_000));
  await page.getByRole('button', { name: 'Upload the file' }).dblclick();
  await outcomeOf(page).getByText('The file was processed.').waitFor();
  expect(arrivals.slice(before)).toHaveLength(1);
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
  await second.getByLabel('Email', { exact: true }).fill('ada at example.com');
  await second.getByLabel('Name', { exact: true }).fill('x'.repeat(1_001));
  await page.getByRole('button', { name: 'Save approvers' }).click();
  // The form finds these faults by itself.
  const ofForm = [
    [first.getByLabel('Name', { exact: true }), 'Enter at least one field.'],
    [second.getByLabel('Email', { exact: true }), 'This is not an email address.'],
    [second.getByLabel('Approver number'), 'Enter digits only.'],
  ] as const;
  for (const [field, fault] of ofForm) expect(await descriptionOf(field)).toContain(fault);
  expect(await ofForm[0][0].evaluate(isFocused)).toBe(true);
  await first.getByLabel('Name', { exact: true }).fill('Ada');
  await second.getByLabel('Email', { exact: true }).fill('');
  await second.getByLabel('Approver number').fill('12');
  await page.getByRole('button', { name: 'Save approvers' }).click();

  await outcomeOf(page).getByText('Nothing was saved.').waitFor();
  const name = second.getByLabel('Name', { exact: true });
  expect(await name.getAttribute('aria-invalid')).toBe('true');
  expect(await descriptionOf(name)).toContain('This has more than 1000 characters.');
  const number = second.getByLabel('Approver number');
  expect(await number.getAttribute('aria-invalid')).toBe('false');
  expect(arrivals.length).toBe(before);

  // A fault goes with the value that had it. The form finds this one by itself.
  await name.fill('Bob');
  const claimLimit = second.getByLabel('Claim limit');
  for (const [limit, fault] of [
    ['1.250,50', 'Enter digits only, and a point before the decimals, such as 1250.50.'],
    ['1.250', 'This may mean 1250 or 1.2500. Enter the one that you mean.'],
    ['9007199254740993', 'This has more than 15 digits.'],
  ] as const) {
    await claimLimit.fill(limit);
    await page.getByRole('button', { name: 'Save approvers' }).click();
    expect(await descriptionOf(claimLimit)).toContain(fault);
    expect(await claimLimit.evaluate(isFocused)).toBe(true);
  }
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
  if (colorScheme === 'light') await updateScreenshot(page, 'web-approvers', 930);
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

/** The places of a button's edges in the window. */
async function edgesOf(button: Locator) {
  const { x, y, width, height } = (await button.boundingBox()) ?? {
    x: 0,
    y: 0,
    width: 0,
    height: 0,
  };
  return { left: x, top: y, right: x + width, bottom: y + height };
}

test.each([
  [900, 1_000],
  [900, 480],
  [420, 800],
  [420, 480],
])(
  'in %i x %i pixels, no outcome covers a button, and "Cancel" is far from where the pointer is',
  async (width, height) => {
    const { page, proxy, visit } = stack;
    await page.setViewportSize({ width, height });
    for (const operation of ['Approvers', 'CSV upload'] as const) {
      await visit(operation);
      await user.prepare[operation]();
      const button = page.locator('section:not([hidden]) button.primary');
      await button.evaluate((element) => element.scrollIntoView({ block: 'end' }));
      const pointer = await edgesOf(button);
      proxy.stall(1);
      await button.click();
      const cancelButton = page.getByRole('button', { name: 'Cancel' });
      // The form is locked, so the keyboard continues here.
      await cancelButton.and(page.locator(':focus')).waitFor();
      const cancel = await edgesOf(cancelButton);
      const { right, bottom } = pointer;
      expect(Math.max(cancel.left - right, cancel.top - bottom)).toBeGreaterThan(24);
      expect(cancel.bottom).toBeLessThanOrEqual(height);
      expect(cancel.top).toBeGreaterThan((await edgesOf(button)).bottom);
      while (proxy.stalled.length === 0) await page.evaluate(() => {});
      // It ignores what may be the second click of a double click.
      while (await cancelButton.isVisible()) {
        const { left, top } = await edgesOf(cancelButton);
        await page.mouse.click(left + 5, top + 5);
      }
      const notice = outcomeOf(page);
      // It takes the focus after it is shown.
      await notice.getByRole('heading').and(page.locator(':focus')).waitFor();
      const { top, bottom: end } = await edgesOf(notice);
      expect(end).toBeLessThanOrEqual(height);
      expect(top).toBeGreaterThan((await edgesOf(button)).bottom);
    }
  },
);

/** Where each link to a page begins, in pixels. */
const edgesOfLinks = (edge: 'left' | 'top') =>
  stack.page
    .getByRole('navigation', { name: 'Pages' })
    .getByRole('link')
    .evaluateAll((links, edge) => links.map((link) => link.getBoundingClientRect()[edge]), edge);

test('the links to the pages stay where they are when another one is selected', async () => {
  const { page, visit } = stack;
  for (const width of [1_280, 360]) {
    await page.setViewportSize({ width, height: 800 });
    const places = [];
    for (const operation of operations) {
      await visit(operation);
      places.push(await edgesOfLinks('left'));
    }
    for (const place of places) expect(place).toEqual(places[0]);
  }
});

test('on a phone, the links to the pages are in one line', async () => {
  const { page } = stack;
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    expect(new Set(await edgesOfLinks('top')).size).toBe(1);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
  }
});

test('a success repeats what was saved, and an unknown outcome has a reference that can be copied', async () => {
  const { page, visit } = stack;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await visit('Approvers');
  await page.getByLabel('Claim limit').fill('2500');
  expect(await user.run('Approvers', '')).toContain('Name: Ada Example · Claim limit: 2500');
  expect(await user.run('CSV upload', '')).toContain('approvers.csv, 39 bytes');

  const told = await user.run('Approvers', 'reset');
  await outcomeOf(page).getByRole('button', { name: 'Copy' }).click();
  await outcomeOf(page).getByText('Copied').waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toMatch(/^[\w-]{36}$/);
  expect(told).toContain(copied);
});

test('after ten seconds, the page shows the time and how long it can take', async () => {
  const { page, proxy, visit } = stack;
  proxy.stall(1);
  await visit('Approvers');
  await user.prepare.Approvers();
  await user.send('Approvers');
  await page.getByText('Sending…').waitFor();
  expect(await page.getByRole('timer').isVisible()).toBe(false);
  while (!(await page.getByRole('timer').isVisible())) await page.clock.runFor(1_000);
  expect(await page.getByRole('timer').textContent()).toMatch(/^1\d seconds\.$/);
  await page.getByText('If no answer arrives, we stop trying after a while').waitFor();
});

test.each([420, 320])('no page scrolls sideways at a width of %i pixels', async (width) => {
  const { page } = stack;
  await page.setViewportSize({ width, height: 800 });
  for (const operation of operations) {
    await user.run(operation, 'failed');
    const found = await page.evaluate(() => document.documentElement.scrollWidth);
    expect([operation, found]).toEqual([operation, width]);
  }
});
