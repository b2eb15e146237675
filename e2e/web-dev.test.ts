import { expect, test } from '@jest/globals';
import { openPage } from './browser.ts';
import { startDev } from './dev-process.ts';

test('npm run dev -- --web serves the app, which can use the gateway from its own port', async () => {
  const url = await startDev(/^Open (\S+) for the example app/, { args: ['--web'] });
  const { page, errors } = await openPage();

  await page.goto(url);
  await page.getByLabel('Project').fill('north-plant');
  await page.getByRole('button', { name: 'Show codes' }).click();

  await page.getByText('Packaging').waitFor();
  const policy = page.locator('meta[http-equiv="Content-Security-Policy"]');
  expect(await policy.getAttribute('content')).toContain("default-src 'none'");
  expect(errors).toEqual([]);
});
