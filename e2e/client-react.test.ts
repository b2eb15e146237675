import { beforeAll, describe, expect, test } from '@jest/globals';
import { impatient, startFaultStack } from '../test/support/client-faults.ts';
import { startHttpServer } from '../test/support/http-server.ts';
import { bundle } from './bundle.ts';
import { browsers, type Page, type Run } from './client-page.ts';

/** In the page: shows a button in StrictMode, and clicks it twice. Returns the phases that it showed. */
async function click({ url, token, options, isLeft }: Run): Promise<unknown> {
  const {
    createElement,
    createLedgerFetch,
    createRoot,
    flushSync,
    isLocked,
    StrictMode,
    useWrite,
  } = await import(`${location.origin}/react-page.js`);
  const ledger = { ...options, url, token: () => token };
  const ledgerFetch = createLedgerFetch(ledger);
  const phases: string[] = [];
  function Button() {
    const { state, submit } = useWrite({
      ...ledger,
      field: 'workflowAction',
      async send(intent: object) {
        const headers = { 'content-type': 'application/json', ...intent };
        const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
        const init = { method: 'POST', headers, body: JSON.stringify({ query }) };
        return (await ledgerFetch(url, init)).json();
      },
    });
    if (phases.at(-1) !== state.phase) phases.push(state.phase);
    return createElement('button', { onClick: () => submit(), disabled: isLocked(state) });
  }
  const root = createRoot(document.body.appendChild(document.createElement('div')));
  flushSync(() => root.render(createElement(StrictMode, null, createElement(Button))));
  const button = document.querySelector('button');
  button?.click();
  button?.click();
  while (!isLeft && /idle|sending|asking/.test(phases.at(-1) ?? ''))
    await new Promise((resolve) => setTimeout(resolve, 5));
  root.unmount();
  return phases;
}

describe.each(browsers)('$name', ({ isMissing, open }) => {
  let stack: Awaited<ReturnType<typeof startFaultStack>>;
  let page: Page;
  let run: Run;

  beforeAll(async () => {
    if (isMissing) return;
    const code = await bundle([
      ['createElement, StrictMode', 'react'],
      ['flushSync', 'react-dom'],
      ['createRoot', 'react-dom/client'],
      ['createLedgerFetch, isLocked', '@ledger-gateway/client'],
      ['useWrite', '@ledger-gateway/client/react'],
    ]);
    const { origin: address } = await startHttpServer(({ url = '/' }, response) => {
      const isScript = url.endsWith('.js');
      response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html');
      response.end(isScript ? code : '<title>page</title>');
    });
    const origin = address.replace('127.0.0.1', 'localhost');
    stack = await startFaultStack({ CORS_ORIGINS: origin });
    page = await open();
    await page.goto(origin);
    run = { url: stack.url, token: stack.token, options: impatient };
  });

  const testHere = isMissing ? test.skip : test;

  testHere('a button in StrictMode sends once', async () => {
    stack.prepare(['cut']);
    expect(await page.evaluate(click, run)).toEqual(['idle', 'sending', 'done']);
    expect(stack.arrivals()).toBe(1);
  });

  testHere('a button that was unmounted in mid-write asks when it is back', async () => {
    stack.prepare(['cut', 'cut']);
    await page.evaluate(click, { ...run, isLeft: true });
    await stack.arrived();
    // It is locked meanwhile, so the clicks do nothing.
    expect(await page.evaluate(click, run)).toEqual(['asking', 'done']);
    expect(stack.arrivals()).toBe(1);
  });
});
