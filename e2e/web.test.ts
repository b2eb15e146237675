import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import axe from 'axe-core';
import type { Page } from 'playwright-core';
import type { ScenarioName } from '../dev/service.ts';
import { outcomeOf, startWebStack } from './web-stack.ts';

let stack: Awaited<ReturnType<typeof startWebStack>>;

beforeAll(async () => {
  stack = await startWebStack();
});

beforeEach(async () => {
  await stack.page.reload();
});

/** How a user runs each operation, up to the click that sends it. */
const operations = {
  'GL codes': async () => {
    const { page } = stack;
    await page.getByLabel('Project').fill('north-plant');
  },
  Approvers: async () => {
    const { page } = stack;
    await page.getByLabel('Name', { exact: true }).fill('Ada Example');
  },
  'CSV upload': async () => {
    const { page } = stack;
    const buffer = Buffer.from('name,email\nAda Example,ada@example.com\n');
    const file = { name: 'approvers.csv', mimeType: 'text/csv', buffer };
    await page.getByLabel('CSV file').setInputFiles(file);
  },
  'Workflow actions': async () => {
    const { page } = stack;
    await page.getByLabel('Restart the workflow', { exact: true }).check();
    await page.getByRole('button', { name: 'Run…' }).click();
  },
};

type Operation = keyof typeof operations;

const buttons: Record<Operation, string> = {
  'GL codes': 'Show codes',
  Approvers: 'Save approvers',
  'CSV upload': 'Upload the file',
  'Workflow actions': 'Yes, run it',
};

/** Runs an operation in a scenario, and returns what the page tells. */
async function run(operation: Operation, scenario: ScenarioName | ''): Promise<string> {
  const { page, practise, visit } = stack;
  await visit(operation);
  const close = outcomeOf(page).getByRole('button', { name: 'Close' });
  if (await close.isVisible()) await close.click();
  await operations[operation]();
  await practise(scenario);
  await page.getByRole('button', { name: buttons[operation] }).click();
  await outcomeOf(page).waitFor();
  return (await outcomeOf(page).textContent()) ?? '';
}

const ledgerSays = {
  failed: 'The operation could not be completed.',
  'not-permitted': 'You may not do this.',
};

/** What the page tells in each scenario, for an operation that is described with these words. */
function outcomes(toDo: string, done: string, nothingDone: string) {
  return {
    failed: [`The ledger could not ${toDo}.`, nothingDone, ledgerSays.failed],
    'not-permitted': [
      `You are not permitted to ${toDo}.`,
      nothingDone,
      ledgerSays['not-permitted'],
    ],
    'no-more-invoices': ['There are no more invoices.'],
    unrecognized: [`It is not clear whether ${done}.`],
    'http-400': ['The ledger did not accept the request.', nothingDone],
    'http-401': ['You are not signed in.', nothingDone],
    'http-403': [`You are not permitted to ${toDo}.`, nothingDone],
  } satisfies Partial<Record<ScenarioName, string[]>>;
}

/** What the page tells when a write is sent and its outcome is not known. */
function unknown(done: string) {
  const title = `We could not learn whether ${done}.`;
  const again = ['It was not repeated.', 'Please check in the ledger'];
  return {
    'http-500': [title, 'a fault of its own', ...again],
    slow: [title, 'did not answer in time', ...again],
    reset: [title, 'The connection to the ledger broke', ...again],
    'not-json': [title, 'was damaged', ...again],
  } satisfies Partial<Record<ScenarioName, string[]>>;
}

const expected: Record<Operation, Partial<Record<ScenarioName | '', string[]>>> = {
  'GL codes': {
    ...outcomes('list the codes', 'this is the complete list', 'No codes were loaded.'),
    'http-500': ['The ledger cannot be reached at the moment.', 'No codes were loaded.'],
  },
  Approvers: {
    '': ['The approvers were saved.'],
    ...outcomes('save the approvers', 'the approvers were saved', 'Nothing was saved.'),
    ...unknown('the approvers were saved'),
  },
  'CSV upload': {
    '': ['The whole file was used.'],
    ...outcomes('use the file', 'the file was used', 'The file was not used.'),
    ...unknown('the file was used'),
  },
  'Workflow actions': {
    '': ['The workflow was restarted.'],
    ...outcomes(
      'restart the workflow',
      'the workflow was restarted',
      'The workflow was not restarted.',
    ),
    ...unknown('the workflow was restarted'),
  },
};

const isFocused = (element: Element) => element === document.activeElement;

/** The violations of accessibility rules that axe finds on the page as it is now. */
async function findViolations(page: Page) {
  return page.evaluate(async () => {
    const { axe } = window as unknown as { axe: typeof import('axe-core') };
    const { violations } = await axe.run();
    return violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)]);
  });
}

const operationNames = Object.keys(operations) as Operation[];

test.each(operationNames)('%s: the page tells every outcome in words', async (operation) => {
  const scenarios = Object.entries(expected[operation]) as [ScenarioName | '', string[]][];
  for (const [scenario, texts] of scenarios) {
    const before = stack.arrivals.length;

    const told = await run(operation, scenario);

    for (const text of texts)
      expect([scenario, told]).toEqual([scenario, expect.stringContaining(text)]);
    // A write reaches the service once, except that a token which the service rejected is renewed.
    if (operation !== 'GL codes') {
      expect([scenario, stack.arrivals.length - before]).toEqual([
        scenario,
        scenario === 'http-401' ? 2 : 1,
      ]);
    }
    expect(await outcomeOf(stack.page).getByRole('heading').evaluate(isFocused)).toBe(true);
  }
});

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

test('a problem does not replace the list from the last time', async () => {
  const { page } = stack;
  await stack.visit('GL codes');
  await operations['GL codes']();
  await page.getByRole('button', { name: 'Show codes' }).click();
  await page.getByText('Packaging').waitFor();

  const told = await run('GL codes', 'failed');

  expect(told).toContain('The ledger could not list the codes.');
  await page.getByText('These are the codes from the last time:').waitFor();
  expect(await page.getByText('Packaging').isVisible()).toBe(true);
});

test('a workflow action that is not confirmed is not sent', async () => {
  const { page, arrivals } = stack;
  const before = arrivals.length;

  await stack.visit('Workflow actions');
  await operations['Workflow actions']();
  await page.getByRole('heading', { name: 'Restart the workflow?' }).waitFor();
  await page.keyboard.press('Escape');

  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  expect(arrivals.length).toBe(before);
  // The focus returns to the button.
  expect(await page.getByRole('button', { name: 'Run…' }).evaluate(isFocused)).toBe(true);
});

test('rows of a CSV file that could not be used are listed', async () => {
  const { page, visit } = stack;
  await visit('CSV upload');
  const buffer = Buffer.from('name,email\nAda Example,ada@example.com\nNobody,\n');
  await page
    .getByLabel('CSV file')
    .setInputFiles({ name: 'approvers.csv', mimeType: 'text/csv', buffer });
  await page.getByRole('button', { name: 'Upload the file' }).click();

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
  const buffer = Buffer.from('Ada Example,ada@example.com\n'.repeat(18_000));
  await page
    .getByLabel('CSV file')
    .setInputFiles({ name: 'large.csv', mimeType: 'text/csv', buffer });
  await page.evaluate(() => {
    const shares: number[] = [];
    Object.assign(window, { shares });
    new MutationObserver(() => {
      const progress = document.querySelector('progress');
      if (progress && progress.value !== shares.at(-1)) shares.push(progress.value);
    }).observe(document.body, { subtree: true, childList: true, attributes: true });
  });
  await page.getByRole('button', { name: 'Upload the file' }).click();

  await outcomeOf(page).getByText('The whole file was used.').waitFor();
  const shares = await page.evaluate(() => (window as unknown as { shares: number[] }).shares);
  expect(shares.length).toBeGreaterThan(2);
  expect(shares).toEqual(shares.toSorted((a, b) => a - b));
  expect(shares.at(-1)).toBe(100);
  await network.detach();
});

test.each(['light', 'dark'] as const)('axe finds nothing on any page: %s', async (colorScheme) => {
  const { page, visit } = stack;
  await page.emulateMedia({ colorScheme });
  await page.reload();
  await page.evaluate(axe.source);
  await page.evaluate(() => document.fonts.ready);
  for (const operation of operationNames) {
    await visit(operation);
    expect(await findViolations(page)).toEqual([]);
    await run(operation, 'failed');
    expect(await findViolations(page)).toEqual([]);
  }
  // The other tones of a notice, a list, and the dialog.
  await run('Approvers', '');
  expect(await findViolations(page)).toEqual([]);
  await run('Approvers', 'reset');
  expect(await findViolations(page)).toEqual([]);
  await stack.practise('');
  await visit('GL codes');
  await page.getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Packaging').waitFor();
  expect(await findViolations(page)).toEqual([]);
  await visit('Workflow actions');
  await operations['Workflow actions']();
  expect(await findViolations(page)).toEqual([]);
  await page.keyboard.press('Escape');
});

test('no page scrolls sideways at a width of 420 pixels', async () => {
  const { page } = stack;
  await page.setViewportSize({ width: 420, height: 800 });
  for (const operation of operationNames) {
    await run(operation, 'failed');
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    expect([operation, width]).toEqual([operation, 420]);
  }
});

test('the page reports no errors in its console', () => {
  // The browser itself reports the responses with status 401.
  expect(stack.errors.filter((error) => !error.includes('401'))).toEqual([]);
});
