import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, test } from '@jest/globals';
import puppeteer from 'puppeteer-core';
import { closeAfterTest } from '../test/support/cleanup.ts';
import { faultCases, impatient, startFaultStack } from '../test/support/client-faults.ts';
import { startHttpServer } from '../test/support/http-server.ts';
import { openPage } from './browser.ts';

const packageFolder = fileURLToPath(new URL('../packages/client/', import.meta.url));
const firefox = process.env.FIREFOX_PATH ?? '/usr/bin/firefox-esr';

/** What both drivers can do. */
type Page = {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  evaluate(run: (argument: Run) => Promise<unknown>, argument: Run): Promise<unknown>;
};

async function openFirefox(): Promise<Page> {
  const browser = await puppeteer.launch({ browser: 'firefox', executablePath: firefox });
  closeAfterTest(() => browser.close());
  return browser.newPage();
}

const browsers: [string, () => Promise<Page>][] = [
  ['Chromium', async () => (await openPage()).page],
  ['Firefox', openFirefox],
];

/** Serves an empty page and the package, which the page imports. */
async function servePackage(): Promise<string> {
  const { origin } = await startHttpServer(async ({ url = '/' }, response) => {
    const name = basename(url);
    const file = name.endsWith('.js') && (await readFile(`${packageFolder}dist/${name}`));
    response.setHeader('content-type', file ? 'text/javascript' : 'text/html');
    response.end(file || '<title>page</title>');
  });
  return origin.replace('127.0.0.1', 'localhost');
}

type Run = { url: string; token: string; options: object; isLeft?: boolean };

/** In the page: sends a query, so that the next requests reuse its connection, and then a mutation. */
async function restart({ url, token, options, isLeft }: Run): Promise<unknown> {
  const { createLedgerFetch, newIntent, readField } = await import(`${location.origin}/index.js`);
  const ledgerFetch = createLedgerFetch({ ...options, token: () => token });
  const post = (query: string, headers = {}) =>
    ledgerFetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ query }),
    });
  await (await post('{ __typename }')).text();
  const intent = newIntent();
  sessionStorage.setItem('intent', intent);
  const selection = '__typename ... on LedgerOutcomeUnknown { code }';
  const mutation = `mutation { workflowAction(action: RESTART) { ${selection} } }`;
  const response = post(mutation, { 'idempotency-key': intent });
  // The driver of Firefox runs again what a reload interrupts.
  if (isLeft) return undefined;
  return readField(await (await response).json(), 'workflowAction');
}

/** In the page after a reload: asks what became of the mutation. */
async function resume({ url, token, options }: Run): Promise<unknown> {
  const { settle, readField } = await import(`${location.origin}/index.js`);
  const intent = sessionStorage.getItem('intent');
  const settled = await settle(intent, { ...options, url, token: () => token });
  return readField(settled, 'workflowAction');
}

beforeAll(async () => {
  await promisify(execFile)('npm', ['run', 'build'], { cwd: packageFolder });
});

describe.each(browsers)('%s', (name, open) => {
  const isMissing = name === 'Firefox' && !existsSync(firefox);
  let stack: Awaited<ReturnType<typeof startFaultStack>>;
  let page: Page;
  let run: Run;

  beforeAll(async () => {
    if (isMissing) return;
    const origin = await servePackage();
    stack = await startFaultStack({ CORS_ORIGINS: origin });
    page = await open();
    await page.goto(origin);
    run = { url: stack.url, token: stack.token, options: impatient };
  });

  const testHere = isMissing ? test.skip : test;

  testHere('learns after a reload what became of a mutation', async () => {
    stack.prepare(['none', 'stall', 'cut']);
    await page.evaluate(restart, { ...run, isLeft: true });
    await stack.arrived();
    await page.reload();

    expect(await page.evaluate(resume, run)).toMatchObject({
      member: { __typename: 'WorkflowActionCompleted' },
    });
    expect(stack.arrivals()).toBe(1);
  });

  testHere.each(faultCases)('survives $name', async ({ faults, result, arrivals }) => {
    stack.prepare(['none', ...faults]);
    expect(await page.evaluate(restart, run)).toMatchObject(result as object);
    expect(stack.arrivals()).toBe(arrivals);
  });
});
