import { beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { findViolations } from './accessibility.ts';
import { updateScreenshot } from './browser.ts';
import { startWebStack, type WebStack } from './web-stack.ts';

let stack: WebStack;

beforeAll(async () => {
  stack = await startWebStack();
});

beforeEach(() => stack.restart());

async function show(project: string): Promise<Locator> {
  const { page } = stack;
  await stack.visit('GL codes');
  await page.getByLabel('Project').fill(project);
  await page.getByRole('button', { name: 'Show codes' }).click();
  const rows = page.getByRole('list').filter({ has: page.getByRole('checkbox') });
  await rows.waitFor();
  return rows.getByRole('listitem');
}

/** The texts that are marked, once something is. */
async function marksOf(rows: Locator): Promise<string[]> {
  await rows.locator('mark').first().waitFor();
  return rows.locator('mark').allTextContents();
}

/** The charts that the docs show on a phone. */
const pictures: Readonly<Record<string, 'light' | 'dark'>> = { hamburg: 'light', jeddah: 'dark' };

test.each([
  ['hamburg', 'fuer', 'für'],
  ['istanbul', 'iştirak', 'İŞTİRAK'],
  ['jeddah', 'اصول', 'أصول'],
  ['osaka', 'ｿﾌﾄ', 'ソフト'],
])(
  'the chart of %s fits on a desktop and on a phone, and %s is marked in it',
  async (project, search, marked) => {
    const { page } = stack;
    const rows = await show(project);
    await page.getByLabel('Search', { exact: true }).fill(search);
    expect(await marksOf(rows)).toContain(marked);
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      for (const width of [1_280, 360]) {
        await page.setViewportSize({ width, height: 900 });
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width);
        expect(await findViolations(page)).toEqual([]);
        const isPictured = pictures[project] === colorScheme && width === 360;
        if (isPictured) {
          await page.setViewportSize({ width, height: 660 });
          const codes = page.getByRole('region', { name: 'Codes', exact: true });
          await codes.evaluate((element) => scrollBy(0, element.getBoundingClientRect().top - 16));
          await updateScreenshot(page, `web-${project}`, 660, width);
        }
      }
    }
  },
);

test('codes are sorted, and limited to those that begin with a number', async () => {
  const { page } = stack;
  const rows = await show('north-plant');
  const first = rows.first();
  await page.getByLabel('Sort by').selectOption('Name');
  await first.getByText('Calibration and inspection').waitFor();
  await page.getByLabel('Sort by').selectOption('Number');
  await first.getByText('Spare parts in stock').waitFor();
  await page.getByLabel('Number begins with').fill('5-2');
  await page.getByText('2 of 14 codes beginning with “5-2”').waitFor();
  expect(await marksOf(rows)).toEqual(['52', '52']);
  await page.getByLabel('Search', { exact: true }).fill('calibration');
  await page.getByText('1 of 14 codes for “calibration” beginning with “5-2”').waitFor();
});
