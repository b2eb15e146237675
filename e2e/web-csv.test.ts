import { readFile } from 'node:fs/promises';
import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import { findViolations } from './accessibility.ts';
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
  await stack.visit('CSV upload');
});

const choose = (buffer: Buffer) =>
  stack.page.getByLabel('CSV file').setInputFiles({ name: 'a.csv', mimeType: 'text/csv', buffer });

const preview = () => stack.page.getByRole('region', { name: 'What the file contains' });

/** What the page says of the file, in order. */
async function readingOf(): Promise<string[]> {
  await preview().waitFor();
  return preview().locator('dd').allTextContents();
}

const step = () =>
  stack.page.getByRole('list', { name: 'Steps of an upload' }).locator('[aria-current]');

const utf16 = (text: string) => Buffer.from(`\ufeff${text}`, 'utf16le');

test.each([
  ['a,b\n1,2\n', Buffer.from('a,b\n1,2\n'), ['UTF-8', 'comma', '2', '2']],
  [
    'with a byte order mark',
    Buffer.from('\ufeffa;b;c\r\n1;2,5;"x\ny"\r\n'),
    ['UTF-8', 'semicolon', '2', '3'],
  ],
  ['of Excel for the Mac', utf16('Größe\tالاسم\n1\tعلي\n'), ['UTF-16', 'tab', '2', '2']],
  [
    'in an older encoding',
    Buffer.from('Größe;Name\n1;Zoë\n', 'latin1'),
    ['Windows-1252, assumed', 'semicolon', '2', '2'],
  ],
  ['with one column', Buffer.from('name\nAda\n'), ['UTF-8', 'none', '2', '1']],
  [
    'with a row of 200,000 fields',
    Buffer.from(`${';'.repeat(199_999)}\n1;2\n`),
    ['UTF-8', 'semicolon', '2', '200,000'],
  ],
  [
    'with quotes',
    Buffer.from('a;b\r\n"1;""2""\r\n";3\r\n5" pipe;""\r\n'),
    ['UTF-8', 'semicolon', '3', '2'],
  ],
  ['with empty lines', Buffer.from('a|b\n\n1|2\n\n'), ['UTF-8', 'vertical bar', '2', '2']],
])('a file is shown as it was read before it is sent: %s', async (_, buffer, reading) => {
  await choose(buffer);
  expect(await readingOf()).toEqual(reading);
});

test('the first rows are shown, and the first one with another number of columns is named', async () => {
  const { page } = stack;
  await choose(Buffer.from(`name;limit\n${'Zoë;1\n'.repeat(7)}Ada;1;2\nBob\n`, 'latin1'));
  expect(await readingOf()).toEqual(['Windows-1252, assumed', 'semicolon', '10', '2']);
  expect(await preview().getByRole('cell').allTextContents()).toEqual([
    'name',
    'limit',
    'Zoë',
    '1',
    'Zoë',
    '1',
    'Zoë',
    '1',
    'Zoë',
    '1',
  ]);
  await page.getByText('Row 9 has another number of columns than the first row.').waitFor();
  await page.getByText('The file is not in UTF-8.').waitFor();
  await page.getByText('The first 5 rows and 2 columns. The file is sent as it is.').waitFor();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await findViolations(page)).toEqual([]);
  }
});

test.each([
  ['no byte', Buffer.alloc(0), 'The file is empty.'],
  ['blank lines', Buffer.from('\ufeff\r\n \r\n'), 'The file is empty.'],
  [
    'a PNG',
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    'This is a picture (PNG), and no CSV file.',
  ],
  [
    'a photo of a phone',
    Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1'),
    'This is a picture (HEIC), and no CSV file.',
  ],
  [
    'a picture of a website',
    Buffer.from('RIFF\x1a\0\0\0WEBPVP8L', 'latin1'),
    'This is a picture (WebP), and no CSV file.',
  ],
  ['a drawing', Buffer.from('<svg xmlns="'), 'This is a picture (SVG), and no CSV file.'],
  [
    'a workbook',
    Buffer.from('PK\x03\x04\x14\0'),
    'This is a workbook or an archive (ZIP), and no CSV file.',
  ],
  ['other bytes', Buffer.from('a\0b'), 'This is no text, and so no CSV file.'],
])('a file with %s is named as such, and not sent', async (_, buffer, fault) => {
  const { page, arrivals } = stack;
  const before = arrivals.length;
  await choose(buffer);
  await page.getByText(fault).waitFor();
  await user.send('CSV upload');
  expect(await page.getByText(fault).isVisible()).toBe(true);
  expect(await preview().isVisible()).toBe(false);
  expect(arrivals.length).toBe(before);
});

test('the picture of the steps follows the upload', async () => {
  expect(await step().textContent()).toBe('Choose');
  await user.chooseFile('name,email\nAda,ada@example.com\n');
  await preview().waitFor();
  expect(await step().textContent()).toBe('Check');
  await user.send('CSV upload');
  await outcomeOf(stack.page).waitFor();
  expect(await step().textContent()).toBe('Outcome');
});

test('the sample can be downloaded and uploaded', async () => {
  const { page } = stack;
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'Download a sample file' }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('sample.csv');
  await choose(await readFile(await download.path()));
  expect(await readingOf()).toEqual(['UTF-8', 'comma', '4', '3']);
  await user.send('CSV upload');
  await outcomeOf(page).getByText('The file was processed.').waitFor();
});
