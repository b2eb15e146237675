import { execFile } from 'node:child_process';
import { createReadStream, existsSync, globSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startHttpServer } from '../testkit/http-server.ts';
import { openPage } from './browser.ts';

const run = promisify(execFile);
const root = fileURLToPath(new URL('..', import.meta.url));
const dist = join(root, 'site/.vitepress/dist');
const types: Record<string, string> = {
  '.css': 'text/css',
  '.html': 'text/html',
  '.js': 'text/javascript',
};

let origin: string;
let page: Page;
let errors: string[];

beforeAll(async () => {
  // Fails if a link is dead.
  await run('npm', ['run', 'docs:build'], { cwd: root });
  ({ origin } = await startHttpServer(({ url = '/' }, response) => {
    const path = join(dist, url.endsWith('/') ? `${url}index` : url);
    const file = [`${path}.html`, path].find((path) => existsSync(path));
    if (!file) return response.writeHead(404).end();
    response.setHeader('content-type', types[extname(file)] ?? 'application/octet-stream');
    return createReadStream(file).pipe(response);
  }));
  ({ page, errors } = await openPage({ width: 390, height: 844 }));
}, 600_000);

test('every page fits on a phone, with its diagrams, and reports no error', async () => {
  const pages = globSync('**/*.html', { cwd: dist, exclude: ['404.html'] });
  expect(pages.length).toBeGreaterThan(40);
  const wide: string[] = [];
  for (const path of pages) {
    await page.goto(`${origin}/${path.replace(/(index)?\.html$/, '')}`);
    const diagrams = await page.locator('.diagram').count();
    for (let n = 0; n < diagrams; n += 1) {
      await page.locator('.diagram').nth(n).locator('svg').first().waitFor();
    }
    const isWide = () => {
      const { scrollWidth, clientWidth } = document.documentElement;
      return scrollWidth > clientWidth;
    };
    if (await page.evaluate(isWide)) wide.push(path);
  }
  expect([wide, errors]).toEqual([[], []]);
}, 300_000);

test('the search finds a page by what it says', async () => {
  await page.goto(`${origin}/`);
  await page.getByRole('button', { name: 'Search' }).click();
  await page.getByRole('searchbox').fill('seven states');
  await page.getByRole('link', { name: 'The seven states' }).first().click();
  await page.waitForURL(/#the-seven-states$/);
  expect(new URL(page.url()).pathname).toBe('/how-to/show-the-outcome');
});
