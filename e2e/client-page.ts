import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, test } from '@jest/globals';
import puppeteer from 'puppeteer-core';
import { closeAfterTest } from '../testkit/cleanup.ts';
import { startFaultStack } from '../testkit/client-faults.ts';
import { startHttpServer } from '../testkit/http-server.ts';
import { openPage } from './browser.ts';
import { isWebKitMissing, openWebKit } from './webkit.ts';

const packageFolder = fileURLToPath(new URL('../packages/client/', import.meta.url));
const firefox = process.env.FIREFOX_PATH ?? '/usr/bin/firefox-esr';

/** What all drivers can do. */
export type Page = {
  goto(url: string): Promise<unknown>;
  reload(): Promise<unknown>;
  goBack(): Promise<unknown>;
  evaluate(run: (argument: Run) => unknown, argument: Run): Promise<unknown>;
  readonly mouse: { click(x: number, y: number): Promise<void> };
};

async function openFirefox(): Promise<Page> {
  const options = { browser: 'firefox', executablePath: firefox } as const;
  const browser = await puppeteer.launch({ ...options, acceptInsecureCerts: true });
  closeAfterTest(() => browser.close());
  return browser.newPage();
}

type Browser = { name: string; isMissing: boolean; open: () => Promise<Page> };

export const browsers: readonly Browser[] = [
  { name: 'Chromium', isMissing: false, open: async () => (await openPage()).page },
  { name: 'Firefox', isMissing: !existsSync(firefox), open: openFirefox },
  { name: 'WebKit', isMissing: isWebKitMissing, open: openWebKit },
];

type Stack = Awaited<ReturnType<typeof startFaultStack>>;

type Here = {
  readonly browser: string;
  readonly test: typeof test | typeof test.skip;
  readonly stack: () => Stack;
  readonly reload: () => Promise<unknown>;
  /** Opens another page of the origin. */
  readonly leave: () => Promise<unknown>;
  readonly goBack: () => Promise<unknown>;
  /** Clicks with the mouse on what is there. */
  readonly clickAt: (x: number, y: number) => Promise<void>;
  readonly evaluate: (
    inPage: (argument: Run) => unknown,
    argument?: Partial<Run>,
  ) => Promise<unknown>;
};

/** Defines tests in each browser: with one page, which imports these scripts by their names, and one stack. */
export function describeBrowsers(
  load: () => Promise<Record<string, string>>,
  define: (here: Here) => void,
): void {
  describe.each(browsers)('$name', ({ name, isMissing, open }) => {
    let stack: Stack;
    let page: Page;
    let origin: string;
    let run: Omit<Run, 'options'>;

    beforeAll(async () => {
      if (isMissing) return;
      const scripts = await load();
      const { origin: address } = await startHttpServer(({ url = '/' }, response) => {
        const script = scripts[basename(url)];
        response.setHeader('content-type', script ? 'text/javascript' : 'text/html');
        response.end(script ?? '<title>page</title>');
      });
      origin = address.replace('127.0.0.1', 'localhost');
      stack = await startFaultStack({ CORS_ORIGINS: origin });
      page = await open();
      await page.goto(origin);
      run = { url: stack.url, token: stack.token };
    });

    define({
      browser: name,
      test: isMissing ? test.skip : test,
      stack: () => stack,
      reload: () => page.reload(),
      leave: () => page.goto(`${origin}/other`),
      goBack: () => page.goBack(),
      clickAt: (x, y) => page.mouse.click(x, y),
      evaluate: (inPage, argument) =>
        page.evaluate(inPage, { ...run, options: stack.options, ...argument }),
    });
  });
}

/** Serves an empty page and the package, which the page imports. */
export async function servePackage(
  url: string,
  response: ServerResponse | Http2ServerResponse,
): Promise<void> {
  const name = basename(url);
  const file = name.endsWith('.js') && (await readFile(`${packageFolder}dist/${name}`));
  response.setHeader('content-type', file ? 'text/javascript' : 'text/html');
  response.end(file || '<title>page</title>');
}

export type Run = {
  url: string;
  token: string;
  /** Those of the users who share the page. */
  tokens?: readonly string[];
  options: object;
  isLeft?: boolean;
  /** Uses the browser's own `fetch`, without a key. */
  isBare?: boolean;
  isDouble?: boolean;
  /** What a user does, such as to press the button with a text. */
  steps?: readonly (readonly [verb: string, text: string])[];
  /** The name of a client, or the text of a button. */
  name?: string;
};

/** In the page: sends a query, so that the next requests reuse its connection, and then a mutation. */
export async function restart({ url, token, options, isLeft, isBare }: Run): Promise<unknown> {
  const { createLedgerFetch, newIntent, readField } = await import(`${location.origin}/index.js`);
  const send = isBare ? fetch : createLedgerFetch({ ...options, token: () => token });
  const post = (query: string, headers = {}) =>
    send(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
        ...headers,
      },
      body: JSON.stringify({ query }),
    });
  await (await post('{ __typename }')).text();
  const intent = newIntent();
  sessionStorage.setItem('intent', intent);
  const selection = '__typename ... on LedgerOutcomeUnknown { code }';
  const mutation = `mutation { workflowAction(action: RESTART) { ${selection} } }`;
  const response = post(mutation, isBare ? {} : { 'idempotency-key': intent });
  // The driver of Firefox runs again what a reload interrupts.
  if (isLeft) return undefined;
  return readField(await (await response).json(), 'workflowAction');
}
