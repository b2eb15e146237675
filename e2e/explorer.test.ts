import { expect, test } from '@jest/globals';
import { openPage, updateScreenshot } from './browser.ts';
import { startDev } from './dev-process.ts';

const startExplorer = (explorer: string) =>
  startDev(/^The gateway listens at (\S+)$/, { variables: { EXPLORER: explorer } });

test('GraphiQL loads offline, reads GL codes and restarts a workflow', async () => {
  const url = await startExplorer('graphiql');
  const { page, requests, errors } = await openPage();

  await page.goto(url);
  const result = page.locator('.result-window');
  const run = page.locator('.graphiql-execute-button');

  await run.waitFor();
  const tabs = await page.locator('.graphiql-tab').allTextContents();
  await page.reload();
  await run.waitFor();
  expect(await page.locator('.graphiql-tab').allTextContents()).toEqual(tabs);
  expect(await page.evaluate(() => document.querySelectorAll('meta[name=viewport]').length)).toBe(
    1,
  );

  await run.click();
  await result.getByText('"GlCodeList"').waitFor();
  await result.getByText('"Spare parts in stock"').waitFor();
  await updateScreenshot(page, 'explorer', 640, 1100);

  await page.locator('.graphiql-tab', { hasText: 'WorkflowAction' }).click();
  // Shortly after the click, GraphiQL stores the query of the tab and detects its operation.
  await page.waitForFunction(() =>
    localStorage.getItem('graphiql:query')?.includes('mutation WorkflowAction'),
  );
  await run.click();
  await result.getByText('"WorkflowActionCompleted"').waitFor();
  await result.getByText('"Workflow restarted."').waitFor();
  // The browser shows every digit of an integer that is too large for a double.
  await result.getByText('"9223372036854775807"').waitFor();

  // Each run has a new key. With the same one, the outcome is replayed.
  const bar = page.locator('#bar');
  const headersOf = async () => {
    await bar.getByText('Response headers (200)').waitFor();
    return bar.locator('pre').textContent();
  };
  const keyOf = () => bar.locator('span').textContent();
  const first = await keyOf();
  expect(await headersOf()).toContain('content-type: ');
  expect(await headersOf()).not.toContain('idempotent-replayed: ');
  const runAgain = async () => {
    const response = page.waitForResponse((one) => one.request().method() === 'POST');
    await run.click();
    await response;
  };
  await runAgain();
  expect(await headersOf()).not.toContain('idempotent-replayed: ');
  expect(await keyOf()).not.toBe(first);
  await bar.getByRole('checkbox').check();
  expect(await bar.getByRole('status').textContent()).toBe('');
  await runAgain();
  expect(await headersOf()).toContain('idempotent-replayed: true');
  await bar.getByText('Replayed, nothing was sent').waitFor();

  // The bar has the colors of GraphiQL, and the page has no scrollbars.
  const background = (element: Element) => getComputedStyle(element).backgroundColor;
  const graphiql = page.locator('#root .graphiql-container').last();
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await bar.evaluate(background)).toBe(await graphiql.evaluate(background));
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  const sizes = await page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return [scrollWidth, scrollHeight];
  });
  expect(sizes).toEqual([1280, 900]);

  // The bar covers nothing of GraphiQL, however high it is.
  await bar.locator('summary').click();
  const explorerBox = await page.locator('.graphiql-container').first().boundingBox();
  const barBox = await bar.boundingBox();
  expect((explorerBox?.y ?? 0) + (explorerBox?.height ?? 0)).toBeLessThanOrEqual(barBox?.y ?? 0);

  // If the response is lost, the bar says so for a mutation. For a query, there is nothing to find out.
  await page.route(url, (route) => route.abort());
  await run.click();
  await bar.getByText('It is not known whether the mutation took effect').waitFor();
  await page.locator('.graphiql-tab', { hasText: 'GlCodes' }).click();
  await page.waitForFunction(() => localStorage.getItem('graphiql:query')?.includes('GlCodes'));
  const failed = page.waitForEvent('requestfailed');
  await run.click();
  await failed;
  await bar.getByText('No response', { exact: true }).waitFor();
  expect(await bar.getByRole('status').textContent()).toBe('');
  await page.unroute(url);
  expect(errors.splice(0)).toEqual(Array(2).fill(expect.stringContaining('ERR_FAILED')));

  // The explorer writes its query into the address.
  await page.goto(`${url}?query=${encodeURIComponent('{ __typename }')}`);
  await run.waitFor();
  await page.setViewportSize({ width: 420, height: 900 });
  expect((await result.boundingBox())?.width).toBeGreaterThan(300);

  expect(errors).toEqual([]);
  const stored = await page.evaluate(() => Object.values(localStorage).join());
  expect(stored).not.toContain('Bearer');
  const { origin } = new URL(url);
  const outside = requests.filter(
    (request) => new URL(request).origin !== origin && !/^(data|blob):/.test(request),
  );
  expect(outside).toEqual([]);
  expect(requests.filter((request) => request === url).length).toBeGreaterThan(2);
}, 180_000);

test('the content security policy of the Sandbox page allows the embed and nothing else', async () => {
  const url = await startExplorer('sandbox');
  const { page, errors } = await openPage();
  // A script stands in for the embed: it opens a frame and sends a query to the gateway.
  await page.route('https://embeddable-sandbox.cdn.apollographql.com/**', (route) =>
    route.fulfill({
      contentType: 'text/javascript',
      body: `window.EmbeddedSandbox = class {
        constructor({ target, initialEndpoint, initialState: { headers } }) {
          const frame = document.createElement('iframe');
          frame.src = 'https://sandbox.embed.apollographql.com/sandbox/explorer';
          document.querySelector(target).append(frame);
          const body = JSON.stringify({ query: '{ __typename }' });
          fetch(initialEndpoint, {
            method: 'POST', body, headers: { ...headers, 'content-type': 'application/json' },
          }).then((response) => response.text()).then((text) => { document.title = text; });
        }
      };`,
    }),
  );
  await page.route('https://sandbox.embed.apollographql.com/**', (route) =>
    route.fulfill({ contentType: 'text/html', body: '<p>the framed page</p>' }),
  );

  await page.goto(url);
  await page.frameLocator('iframe').getByText('the framed page').waitFor();
  await page.waitForFunction(() => document.title.startsWith('{'));
  expect(await page.getByText('EXPLORER=graphiql').isVisible()).toBe(false);
  expect(JSON.parse(await page.title())).toEqual({ data: { __typename: 'Query' } });
  expect(errors).toEqual([]);

  const blocked = await page.evaluate(async () => {
    const refused = new Promise<string>((resolve) => {
      document.addEventListener('securitypolicyviolation', ({ blockedURI }) => resolve(blockedURI));
    });
    await fetch('https://blocked.example/').catch(() => {});
    return refused;
  });
  expect(blocked).toBe('https://blocked.example/');
});

test('without a connection to the internet, the Sandbox page names GraphiQL', async () => {
  const url = await startExplorer('sandbox');
  const { page } = await openPage();
  await page.route('https://embeddable-sandbox.cdn.apollographql.com/**', (route) => route.abort());

  await page.goto(url);

  await page.getByText('EXPLORER=graphiql').waitFor();
});
