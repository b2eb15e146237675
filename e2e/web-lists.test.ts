import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { foundParts, type Part } from '../examples/web/src/pages/found-parts.ts';
import { startStub } from '../testkit/service.ts';
import { outcomeOf, startWebStack, type WebStack } from './web-stack.ts';

const row = (Code: string | null, Name: string, Value = '', Hide = 0) => {
  return { Code, Name, Value, Hide };
};

/** The lists of the service, by project. */
const lists: Readonly<Record<string, readonly object[]>> = {
  'too-long': [row('1', 'x'.repeat(4_000))],
  'bad-row': [row('1', 'Rent'), { code: '2', name: 'Travel' }],
  // As real charts have them: a code twice with two names, and rows without a code.
  repeated: [
    row('2493', 'Interest'),
    row('2493', 'Dividends'),
    row('', 'Income'),
    row(null, 'Costs'),
    row('30', 'Rent'),
    row('31', 'Rent of cars', 'R', 1),
  ],
  words: [
    row(
      '0855',
      'Sofortabschreibungengeringwertigerwirtschaftsgüter',
      'Donaudampfschifffahrtskosten',
    ),
    row('0730-0742+0761-0820+0849-0857', 'Wertberichtigungen', 'Provisions for doubtful debts'),
  ],
  arabic: [row('100101', 'حق استخدام الأصول (IFRS 16)', 'أصول (A)')],
};

/** The status record with which the service fails for the project `locked`. */
const locked = { invoice_id: 1, message: 'The database is locked.', status: 1 };

/** How the service refuses a request, as ASP.NET Core writes it. */
const refused = {
  status: 400,
  errors: {
    project: ['The project is closed.'],
    '[0].email': ['It is taken.'],
    '[0]': ['It is old.'],
  },
};

let stack: WebStack;

beforeAll(async () => {
  const service = await startStub((response, { url }) => {
    const project = new URL(url, 'http://service').searchParams.get('project') ?? '';
    const list = lists[project];
    response.setHeader('content-type', 'application/json');
    if (project === 'locked') response.writeHead(500).end(JSON.stringify(locked));
    else if (project === 'unknown') response.writeHead(404).end();
    else if (project === 'closed' || url === '/saveApproverList') {
      response.setHeader('content-type', 'application/problem+json');
      response.writeHead(400).end(JSON.stringify(refused));
    } else response.end(JSON.stringify({ service_status: { status: 0 }, list }));
  });
  stack = await startWebStack({ UPSTREAM_MAX_RESPONSE_BYTES: '3000' }, service);
});

beforeEach(() => stack.restart());

/** Shows the list of a project. */
async function show(project: string): Promise<void> {
  await stack.visit('GL codes');
  await stack.page.getByLabel('Project').fill(project);
  await stack.page.getByRole('button', { name: 'Show codes' }).click();
}

test.each([
  [
    'locked',
    'The ledger reported a fault of its own.',
    'The service failed and says: "The database is locked."',
  ],
  [
    'too-long',
    'The answer of the ledger cannot be used.',
    'longer than 3000 bytes, which is more than this gateway reads (UPSTREAM_MAX_RESPONSE_BYTES)',
  ],
  ['bad-row', 'The answer of the ledger cannot be used.', 'row 2 has no code'],
  [
    'unknown',
    'The ledger did not accept the request.',
    'The service did not find what the request names.',
  ],
])(
  'why a list cannot be shown is said in words that a user can pass on: %s',
  async (project, what, why) => {
    const { page } = stack;
    await show(project);
    await outcomeOf(page).waitFor();
    const told = await outcomeOf(page).textContent();
    expect(told).toContain(what);
    expect(told).toContain(why);
    expect(told).toMatch(/Reference: [\w-]{36}/);
    // Once the operators have mended it, or if the response was only cut off.
    expect(await page.getByRole('button', { name: 'Try again' }).isVisible()).toBe(true);
  },
);

test('what is wrong with a request is said with the words of the ledger', async () => {
  const { page } = stack;
  await show('closed');
  await outcomeOf(page).getByText('project: The project is closed.').waitFor();
  await stack.visit('Approvers');
  await page.getByLabel('Email', { exact: true }).fill('ada@example.com');
  await page.getByRole('button', { name: 'Save approvers' }).click();
  await outcomeOf(page).getByText('approvers 1: It is old.').waitFor();
  await outcomeOf(page).getByText('Please correct the marked fields.').waitFor();
  const group = page.getByRole('group', { name: 'Approver 1' });
  expect(await group.getByText('It is taken.').isVisible()).toBe(true);
});

test('a row is picked by itself, although its number is listed twice, or it has none', async () => {
  const { page } = stack;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await show('repeated');
  const boxes = page.getByRole('list').getByRole('checkbox');
  await page.getByRole('checkbox', { name: 'Dividends' }).check();
  const states = async () =>
    Promise.all(
      (await boxes.all()).map(async (box) => [await box.isChecked(), await box.isEnabled()]),
    );
  expect(await states()).toEqual([
    [false, true],
    [true, true],
    [false, false],
    [false, false],
    [false, true],
    [false, true],
  ]);
  const picked = page.getByRole('region', { name: 'Picked codes' });
  expect(await picked.getByRole('listitem').allTextContents()).toEqual(['2493 Dividends']);
  await page.getByRole('checkbox', { name: '30 Rent' }).check();
  await page.getByRole('button', { name: 'Copy the numbers' }).click();
  await page.getByText('Copied: 2493, 30').waitFor();
});

test.each(['Rent of cars', 'Costs'])(
  'a row that is copied from the page is found by its search: %s',
  async (name) => {
    const { page } = stack;
    await show('repeated');
    const rows = page.getByRole('list').getByRole('listitem');
    await rows.filter({ hasText: name }).evaluate((element) => {
      getSelection()?.selectAllChildren(element);
    });
    await page.keyboard.press('Control+C');
    await page.getByLabel('Search', { exact: true }).focus();
    await page.keyboard.press('Control+V');
    await page.getByText('1 of 6 codes').waitFor();
    expect(await rows.allTextContents()).toEqual([expect.stringContaining(name)]);
  },
);

/** A text with what is found in brackets. */
const inBrackets = (parts: readonly Part[]) =>
  parts.map(({ text, isFound }) => (isFound ? `[${text}]` : text)).join('');

test.each([
  ['Créances et dettes', 'DETTES creances', '[Créances] et [dettes]'],
  ['Straßenbau', 'strasse', '[Straße]nbau'],
  ['Kfz-Beiträge', 'kfz-beitraege', '[Kfz-Beiträge]'],
  ['Abschluss 2019-2020', '2019-2020', 'Abschluss [2019-2020]'],
  ['Ärger 2019-2020', '2019–2020', 'Ärger [2019-2020]'],
  ['Gebäude für Büros', 'buero gebaude', '[Gebäude] für [Büro]s'],
  ['Prêts à l’étranger', "l'etranger", 'Prêts à [l’étranger]'],
  ['İŞTİRAKLERDEN', 'iştirak', '[İŞTİRAK]LERDEN'],
  ['حق استخدام الأصول', 'اصول', 'حق استخدام ال[أصول]'],
  ['ﾀｸｼｰ代', 'タクシー', '[ﾀｸｼｰ]代'],
  ['Rent', '', 'Rent'],
  ['Rent', '%', 'Rent'],
])('in %j, what the search %j found is marked', (text, search, marked) => {
  expect(inBrackets(foundParts(text, search))).toBe(marked);
});

test('in a code, what was found is marked without regard to its punctuation', () => {
  expect(inBrackets(foundParts('10.01.00', '1001', ''))).toBe('[10.01].00');
  expect(inBrackets(foundParts('4455-10', '44-55', ''))).toBe('[4455]-10');
});

test('in a code, a prefix is marked where the code begins', () => {
  expect(inBrackets(foundParts('10.01.10', '', '1-0'))).toBe('[10].01.10');
  expect(inBrackets(foundParts('10.01.10', '01', '10'))).toBe('[10].[01].10');
  expect(inBrackets(foundParts('10.01.10', '', '-'))).toBe('10.01.10');
});

test.each([320, 360])('long words stay on a screen of %i pixels', async (width) => {
  const { page } = stack;
  await page.setViewportSize({ width, height: 800 });
  await show('words');
  await page.getByRole('checkbox', { name: 'Sofortabschreibungen' }).check();
  await page.getByRole('checkbox', { name: 'Wertberichtigungen' }).check();
  const edges = await page
    .locator('main *')
    .evaluateAll((elements) => elements.map((element) => element.getBoundingClientRect().right));
  expect(Math.max(...edges)).toBeLessThanOrEqual(width);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
});

test('Arabic is written from right to left, and the numbers beside it are not moved', async () => {
  const { page } = stack;
  await show('arabic');
  const directionOf = (element: Element) => getComputedStyle(element).direction;
  const name = page.getByText('حق استخدام الأصول (IFRS 16)');
  expect(await name.evaluate(directionOf)).toBe('rtl');
  expect(await page.getByText('100101').evaluate(directionOf)).toBe('ltr');
  const search = page.getByLabel('Search', { exact: true });
  await search.fill('أصول');
  expect(await search.evaluate(directionOf)).toBe('rtl');
});
