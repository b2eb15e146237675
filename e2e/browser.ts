import { fileURLToPath } from 'node:url';
import chromium from '@sparticuz/chromium';
import { type Page, chromium as playwright } from 'playwright-core';
import { closeAfterTest } from '../testkit/cleanup.ts';

// No page needs WebGL, whose emulation takes a third of the CPU of a test.
chromium.setGraphicsMode = false;
/** The package turns off what a page in a user's browser is subject to, such as CORS. */
const args = chromium.args.filter(
  (arg) => !['--disable-web-security', '--allow-running-insecure-content'].includes(arg),
);

/**
 * Opens a page in a real browser, and records its requests and its errors. The package of Chromium has a
 * binary for Linux on x64: CHROMIUM_PATH names another one.
 */
export async function openPage(viewport = { width: 1400, height: 900 }) {
  const browser = await playwright.launch({
    executablePath: process.env.CHROMIUM_PATH ?? (await chromium.executablePath()),
    args,
  });
  closeAfterTest(() => browser.close());
  const page = await browser.newPage({ viewport, ignoreHTTPSErrors: true });
  // On a busy machine, a large page needs more than the 30 s of Playwright.
  page.setDefaultTimeout(120_000);
  const requests: string[] = [];
  const errors: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') errors.push(message.text());
  });
  return { page, requests, errors };
}

/** With `npm run screenshot`, updates a picture of the docs. */
export async function updateScreenshot(page: Page, name: string, height: number, width = 720) {
  if (process.env.UPDATE_SCREENSHOT !== '1') return;
  const viewport = page.viewportSize();
  await page.setViewportSize({ width, height });
  await page.screenshot({ path: fileURLToPath(new URL(`../docs/${name}.png`, import.meta.url)) });
  if (viewport) await page.setViewportSize(viewport);
}
