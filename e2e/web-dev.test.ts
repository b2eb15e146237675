import { expect, test } from '@jest/globals';
import { closeAfterTest } from '../test/support/cleanup.ts';
import { startProcess } from '../test/support/process.ts';
import { openPage } from './browser.ts';

test('npm run dev -- --web serves the app, which can use the gateway from its own port', async () => {
  const dev = startProcess(['dev/start.ts', '--web'], {
    env: {
      PORT: '0',
      DEV_ISSUER_PORT: '0',
      DEV_SERVICE_PORT: '0',
      DEV_CUTTING_PROXY_PORT: '0',
      DEV_WEB_PORT: '0',
      LOG_LEVEL: 'warn',
    },
  });
  closeAfterTest(async () => {
    dev.signal('SIGTERM');
    expect(await dev.exited).toEqual({ code: 0, signal: null });
  });
  const [, url = ''] = await dev.line(/web app +open (\S+)$/);
  const { page, errors } = await openPage();

  await page.goto(url);
  await page.getByLabel('Project').fill('north-plant');
  await page.getByRole('button', { name: 'Show codes' }).click();

  await page.getByText('Packaging').waitFor();
  const policy = page.locator('meta[http-equiv="Content-Security-Policy"]');
  expect(await policy.getAttribute('content')).toContain("default-src 'none'");
  expect(errors).toEqual([]);
});
