import { readFileSync } from 'node:fs';
import { beforeEach, expect } from '@jest/globals';
import { z } from 'zod';
import { faultCases, impatient } from '../testkit/client-faults.ts';
import { testIssuer } from '../testkit/issuer.ts';
import { bundle } from './bundle.ts';
import { describeBrowsers, type Run, restart } from './client-page.ts';

const pageCode = `
export * from '@ledger-gateway/client';
export { useWrite } from '@ledger-gateway/client/react';
export { createElement, StrictMode } from 'react';
export { flushSync } from 'react-dom';
export { createRoot } from 'react-dom/client';
export { ApolloClient, ApolloLink, HttpLink, InMemoryCache } from '@apollo/client';
export { createTrustedDocumentLink } from './src/links/trusted-document-link.ts';
export { GlCodesDocument } from './src/gql/graphql.ts';
`;

const sample = readFileSync(
  new URL('../packages/client/examples/first-mutation.ts', import.meta.url),
  'utf8',
);
/** The addresses of the sample come from the page. */
const sampleCode = sample
  .replace("'http://127.0.0.1:4000/graphql'", 'Reflect.get(window, "ledgerUrl")')
  .replace("'http://127.0.0.1:4010/token'", 'Reflect.get(window, "tokenUrl")');

const restarted = { kind: 'member', member: { __typename: 'WorkflowActionCompleted' } };

/** In the page after a reload: asks what became of the mutation. */
async function resume({ url, token, options }: Run): Promise<unknown> {
  const { settle, readField } = await import(`${location.origin}/index.js`);
  const intent = sessionStorage.getItem('intent');
  const settled = await settle(intent, { ...options, url, token: () => token });
  return readField(settled, 'workflowAction');
}

/** In the page: two clicks on a button, 100 ms apart. It notes the intent of the last request. */
async function doubleClick({ url, token, options }: Run): Promise<unknown> {
  const { createLedgerFetch, readField } = await import(`${location.origin}/index.js`);
  const ledgerFetch = createLedgerFetch({
    ...options,
    token: () => token,
    fetch(url: string, init: RequestInit) {
      const intent = new Headers(init.headers).get('idempotency-key');
      if (intent) sessionStorage.setItem('intent', intent);
      return fetch(url, init);
    },
  });
  const click = async () => {
    const query = 'mutation Click { workflowAction(action: RESTART) { __typename } }';
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify({ query }) };
    return readField(await (await ledgerFetch(url, init)).json(), 'workflowAction');
  };
  const first = click();
  await new Promise((resolve) => setTimeout(resolve, 100));
  return Promise.all([first, click()]);
}

/**
 * In the page: shows a button in the middle, where "Cancel" takes its place while the write is sent. Returns the middle of
 * the button.
 */
async function showCentred({ url, token, options }: Run): Promise<{ x: number; y: number }> {
  const { createLedgerFetch, createWrite } = await import(`${location.origin}/index.js`);
  const ledger = { ...options, url, token: () => token };
  const ledgerFetch = createLedgerFetch(ledger);
  const write = createWrite({
    ...ledger,
    field: 'workflowAction',
    async send(intent: object) {
      const headers = { 'content-type': 'application/json', ...intent };
      const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
      const init = { method: 'POST', headers, body: JSON.stringify({ query }) };
      return (await ledgerFetch(url, init)).json();
    },
  });
  const seen = { clicked: [] as string[], phase: '' };
  Object.assign(window, { seen });
  document.body.style.cssText = 'display: grid; place-content: center; height: 90vh; margin: 0';
  const show = () => {
    seen.phase = write.getState().phase;
    const name = seen.phase === 'sending' ? 'Cancel' : 'Restart';
    const button = Object.assign(document.createElement('button'), {
      textContent: name,
      onclick() {
        seen.clicked.push(name);
        if (name === 'Cancel') write.cancel();
        else write.submit();
      },
    });
    document.body.replaceChildren(button);
  };
  write.subscribe(show);
  show();
  const { x, y, width, height } = document.body.firstElementChild?.getBoundingClientRect() ?? {
    x: 0,
    y: 0,
    width: 0,
    height: 0,
  };
  return { x: x + width / 2, y: y + height / 2 };
}

/** In the page: waits for the end of that write. Returns how it ended, and what was clicked on. */
async function endOfCentred(): Promise<unknown> {
  const seen = Reflect.get(window, 'seen');
  while (/sending|asking/.test(seen.phase)) await new Promise((resolve) => setTimeout(resolve, 5));
  return seen;
}

/** In the page: leaves this content in the storage of the package. */
const store = ({ name = '' }: Run) => sessionStorage.setItem('ledger-gateway:intents', name);

/** In the page: shows a button in StrictMode, and clicks it twice. Returns the phases that it showed. */
async function click({ url, token, options, isLeft }: Run): Promise<unknown> {
  const page = await import(`${location.origin}/index.js`);
  const { createElement, createLedgerFetch, flushSync, isLocked, useWrite } = page;
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
  const root = page.createRoot(document.body.appendChild(document.createElement('div')));
  flushSync(() => root.render(createElement(page.StrictMode, null, createElement(Button))));
  const button = document.querySelector('button');
  button?.click();
  button?.click();
  while (!isLeft && /idle|sending|asking/.test(phases.at(-1) ?? ''))
    await new Promise((resolve) => setTimeout(resolve, 5));
  root.unmount();
  return phases;
}

/**
 * In the page: shows a button without a token, renders it again with one, clicks it, and renders it as that of another
 * row. Returns the phases that it showed.
 */
async function render({ url, token, options }: Run): Promise<unknown> {
  const page = await import(`${location.origin}/index.js`);
  const { createElement, createLedgerFetch, flushSync, useWrite } = page;
  const ledgerFetch = createLedgerFetch(options);
  const phases: string[] = [];
  function Button({ name, headers, getToken }: Record<string, unknown>) {
    const ledger = { ...options, url, headers, token: getToken };
    const { state, submit } = useWrite({
      ...ledger,
      field: 'workflowAction',
      name,
      async send(intent: object) {
        const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
        const init = { method: 'POST', headers: { ...(headers as object), ...intent } };
        return (await ledgerFetch(url, { ...init, body: JSON.stringify({ query }) })).json();
      },
    });
    if (phases.at(-1) !== state.phase) phases.push(state.phase);
    return createElement('button', { onClick: () => submit() });
  }
  const root = page.createRoot(document.body.appendChild(document.createElement('div')));
  const show = (props: object) => flushSync(() => root.render(createElement(Button, props)));
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
  const getToken = () => Promise.reject(new Error('Nobody is signed in.'));
  show({ name: 'row-1', getToken });
  show({ name: 'row-1', headers });
  document.querySelector('button')?.click();
  while (/idle|sending|asking/.test(phases.at(-1) ?? ''))
    await new Promise((resolve) => setTimeout(resolve, 5));
  show({ name: 'row-2', headers });
  root.unmount();
  return phases;
}

/**
 * In the page: one user submits a write of `useWrite`, and another one is signed in when its response arrives, without a
 * reload. Then the other one clicks, and the first one comes back and clicks. Returns the phases that each user saw.
 */
async function changeUsers({ url, tokens: [ada = '', bob = ''] = [], options }: Run) {
  const page = await import(`${location.origin}/index.js`);
  const { createElement, createLedgerFetch, flushSync, useWrite } = page;
  let user = ada;
  const seen: string[] = [];
  const ledger = { ...options, url, token: () => user };
  const ledgerFetch = createLedgerFetch({ ...ledger, doubleClickMs: 0 });
  function Button() {
    const { state, submit } = useWrite({
      ...ledger,
      field: 'workflowAction',
      async send(headers: object, signIn?: string) {
        const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
        const type = { 'content-type': 'application/json' };
        const init = { method: 'POST', headers: { ...type, ...headers } };
        const response = await ledgerFetch(url, { ...init, body: JSON.stringify({ query }) });
        user = signIn ?? user;
        return response.json();
      },
    });
    seen.push(`${user === ada ? 'ada' : 'bob'} ${state.phase}`);
    return createElement('button', { onClick: () => submit(seen.length === 1 ? bob : undefined) });
  }
  const root = page.createRoot(document.body.appendChild(document.createElement('div')));
  flushSync(() => root.render(createElement(Button)));
  const click = async () => {
    flushSync(() => document.querySelector('button')?.click());
    while (/sending|asking/.test(seen.at(-1) ?? ''))
      await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await click();
  await click();
  user = ada;
  await click();
  root.unmount();
  return seen;
}

/** Passes the requests of its pages on. */
const worker = `
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => event.respondWith(fetch(event.request)));
`;

/** In the page: starts its service worker, or removes it. */
async function useWorker({ isLeft }: Run): Promise<unknown> {
  const { serviceWorker } = navigator;
  if (isLeft) return (await serviceWorker.ready).unregister();
  await serviceWorker.register('/worker.js');
  while (!serviceWorker.controller) await new Promise((resolve) => setTimeout(resolve, 5));
  return true;
}

/** In the page: the same click in two tabs, each with a copy of the package. Returns how they ended. */
async function clickInTabs({ url, token, options }: Run): Promise<unknown> {
  const tabs = await Promise.all(
    ['index.js', 'tab.js'].map((name) => import(`${location.origin}/${name}`)),
  );
  const click = async ({ createLedgerFetch, readField }: (typeof tabs)[number]) => {
    const ledgerFetch = createLedgerFetch({ ...options, token: () => token });
    const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: JSON.stringify({ query }) };
    return readField(await (await ledgerFetch(url, init)).json(), 'workflowAction');
  };
  return Promise.all(tabs.map(click));
}

/** In the page: opens the first sample of the docs, unless it is open. Returns whether it was. */
async function openSample({ url, token }: Run): Promise<unknown> {
  if (Reflect.has(window, 'ledgerUrl')) return true;
  Object.assign(window, { ledgerUrl: url, tokenUrl: `data:,${token}` });
  await import(`${location.origin}/sample.js`);
  return false;
}

/** In the page: clicks on the button of the sample with this name. */
function press({ name }: Run): void {
  for (const button of document.querySelectorAll('button'))
    if (button.textContent === name) button.click();
}

/** In the page: waits until the sample says how the write has ended. */
async function textOfSample(): Promise<unknown> {
  const text = document.querySelector('p');
  while (!text || /^$|sent|asking/.test(text.textContent))
    await new Promise((resolve) => setTimeout(resolve, 5));
  return text.textContent;
}

/** In the page: loses its connection, so that each request fails, sends a write, and has the connection again when the write waits for it. */
async function sendOffline({ url, token, options, isLeft }: Run): Promise<unknown> {
  const { createLedgerFetch, readField } = await import(`${location.origin}/index.js`);
  let isOnline = false;
  Object.defineProperty(navigator, 'onLine', { configurable: true, get: () => isOnline });
  const states: string[] = [];
  const ledgerFetch = createLedgerFetch({
    ...options,
    token: () => token,
    fetch: async (...request: Parameters<typeof fetch>) => {
      if (!isOnline) throw new TypeError('Failed to fetch');
      return fetch(...request);
    },
    onProgress({ state }: { state: string }) {
      states.push(state);
      if (isLeft) return;
      isOnline = true;
      setTimeout(() => dispatchEvent(new Event('online')));
    },
  });
  const query = 'mutation { workflowAction(action: RESTART) { __typename } }';
  const headers = { 'content-type': 'application/json' };
  const response = await ledgerFetch(url, {
    method: 'POST',
    headers,
    body: JSON.stringify({ query }),
  });
  Reflect.deleteProperty(navigator, 'onLine');
  return { states, ...readField(await response.json(), 'workflowAction') };
}

/** In the page: makes it one of a browser without `AbortSignal.any`, and without `crypto`. */
function removeApis(): unknown {
  Object.defineProperty(AbortSignal, 'any', { value: undefined });
  Object.defineProperty(window, 'crypto', { value: undefined });
  return [typeof AbortSignal.any, typeof crypto];
}

/** In the page: sends a query by its hash, with Apollo Client and the link of the example app. */
async function queryByHash({ url, token, options }: Run): Promise<unknown> {
  const page = await import(`${location.origin}/index.js`);
  const fetch = page.createLedgerFetch({ ...options, token: () => token });
  const client = new page.ApolloClient({
    link: page.ApolloLink.from([
      page.createTrustedDocumentLink(),
      new page.HttpLink({ uri: url, fetch }),
    ]),
    cache: new page.InMemoryCache(),
  });
  const variables = { target: 'EMAIL', project: 'a', includeHide: false, skip: 0, first: 1 };
  const query = { query: page.GlCodesDocument, variables, fetchPolicy: 'no-cache' };
  return client.query(query).catch(({ name }: Error) => name);
}

describeBrowsers(
  async () => {
    const code = await bundle(pageCode);
    return {
      'index.js': code,
      'tab.js': code,
      'sample.js': await bundle(sampleCode),
      'worker.js': worker,
    };
  },
  ({ browser, test, stack, evaluate, reload, leave, goBack, clickAt }) => {
    beforeEach(() => reload());

    test('learns after a reload what became of a mutation', async () => {
      stack().prepare(['none', 'stall', 'cut']);
      await evaluate(restart, { isLeft: true });
      await stack().arrived();
      await reload();

      expect(await evaluate(resume)).toMatchObject(restarted);
      expect(stack().arrivals()).toBe(1);
    });

    test('sends a double click once, and asks about it after a reload, for its user alone', async () => {
      stack().prepare([]);
      const options = { ...impatient, doubleClickMs: 5_000 };
      expect(await evaluate(doubleClick, { options })).toEqual([restarted, restarted]);
      expect(stack().arrivals()).toBe(1);

      await reload();
      expect(await evaluate(resume)).toMatchObject(restarted);
      // Another user signs in: the intent stays for its owner.
      const token = await (await testIssuer()).token({ sub: 'bob' });
      const intent = expect.stringContaining('-');
      expect(await evaluate(resume, { token })).toMatchObject({ kind: 'lost', intent });
      expect(await evaluate(resume)).toMatchObject(restarted);
    });

    test('the second click of a double click does not cancel, where "Cancel" appears under the pointer', async () => {
      stack().prepare(['stall']);
      const options = { ...impatient, attemptMs: 2_000, doubleClickMs: 5_000 };
      const { x, y } = z
        .object({ x: z.number(), y: z.number() })
        .parse(await evaluate(showCentred, { options }));
      await clickAt(x, y);
      await clickAt(x, y);
      expect(await evaluate(endOfCentred)).toEqual({
        clicked: ['Restart', 'Cancel'],
        phase: 'done',
      });
      expect(stack().arrivals()).toBe(1);
    });

    test.each(['{}', '[["k",null]]', '[5]'])('a page loads whose storage has %s', async (name) => {
      stack().prepare(['none', 'cut', 'cut']);
      await evaluate(store, { name });
      await reload();
      expect(await evaluate(restart)).toMatchObject(restarted);
      expect(stack().arrivals()).toBe(1);
    });

    test('the first sample sends a double click once, and asks after a reload', async () => {
      const done = 'The workflow was restarted.';
      const name = 'Restart the workflow';
      stack().prepare(['hang']);
      await evaluate(openSample);
      await evaluate(press, { name });
      await stack().arrived();
      await reload();
      await evaluate(openSample);
      expect(await evaluate(textOfSample)).toBe(done);
      expect(stack().arrivals()).toBe(1);

      for (let clicks = 0; clicks < 2; clicks += 1) {
        await evaluate(press, { name });
        expect(await evaluate(textOfSample)).toBe(done);
      }
      expect(stack().arrivals()).toBe(2);
    });

    test('the first sample says what became of a write, if the user leaves and comes back', async () => {
      stack().prepare(['hang']);
      await evaluate(openSample);
      await evaluate(press, { name: 'Restart the workflow' });
      await stack().arrived();
      await leave();
      await goBack();
      // With these drivers, only WebKit restores the page from its cache. The others load it again.
      expect(await evaluate(openSample)).toBe(browser === 'WebKit');
      expect(await evaluate(textOfSample)).toBe('The workflow was restarted.');
      expect(stack().arrivals()).toBe(1);
    });

    test('a button in StrictMode sends once', async () => {
      stack().prepare(['cut']);
      expect(await evaluate(click)).toEqual(['idle', 'sending', 'done']);
      expect(stack().arrivals()).toBe(1);
    });

    test('a button that was unmounted in mid-write asks when it is back', async () => {
      stack().prepare(['cut', 'cut']);
      await evaluate(click, { isLeft: true });
      await stack().arrived();
      // It is locked meanwhile, so the clicks do nothing.
      expect(await evaluate(click)).toEqual(['asking', 'done']);
      expect(stack().arrivals()).toBe(1);
    });

    test('a button uses the options of its last render, and has a state for each name', async () => {
      stack().prepare([]);
      expect(await evaluate(render)).toEqual(['idle', 'sending', 'done', 'idle']);
      expect(stack().arrivals()).toBe(1);
    });

    test('another user who signs in without a reload hears nothing, and the owner hears all', async () => {
      stack().prepare([]);
      const bob = await (await testIssuer()).token({ sub: 'bob' });
      const seen = await evaluate(changeUsers, { tokens: [stack().token, bob] });
      expect(seen).toEqual([
        ...['ada idle', 'ada sending', 'bob asking', 'bob idle'],
        ...['bob sending', 'bob done'],
        // What became of the write of Ada.
        ...['ada sending', 'ada asking', 'ada done'],
      ]);
      expect(stack().arrivals()).toBe(2);
    });

    test('the same click in two tabs is two decisions', async () => {
      stack().prepare([]);
      expect(await evaluate(clickInTabs)).toEqual([restarted, restarted]);
      expect(stack().arrivals()).toBe(2);
    });

    test('a service worker that passes requests on changes nothing', async () => {
      expect(await evaluate(useWorker)).toBe(true);
      stack().prepare(['none', 'cut', 'cut']);
      expect(await evaluate(restart)).toMatchObject(restarted);
      expect(stack().arrivals()).toBe(1);
      expect(await evaluate(useWorker, { isLeft: true })).toBe(true);
    });

    test('an offline device sends nothing, and continues when it is online', async () => {
      stack().prepare([]);
      // After the second failure, no time is left for a third attempt.
      const options = { ...impatient, delayMs: 20, patienceMs: 30 };
      expect(await evaluate(sendOffline, { options, isLeft: true })).toMatchObject({
        states: ['offline'],
        error: { code: 'OFFLINE' },
      });
      expect(stack().requests).toEqual([]);
      expect(await evaluate(sendOffline)).toEqual({ states: ['offline'], ...restarted });
      expect(stack().arrivals()).toBe(1);
    });

    test('a query by hash has no key, and is not repeated', async () => {
      const unavailable = { status: 503, body: '' };
      stack().prepare([unavailable, unavailable]);
      expect(await evaluate(queryByHash)).toBe('ServerError');
      expect(stack().requests).toEqual([expect.objectContaining({ key: undefined })]);
    });

    test('works without AbortSignal.any and without crypto', async () => {
      expect(await evaluate(removeApis)).toEqual(['undefined', 'undefined']);
      stack().prepare(['none', 'cut', 'cut']);
      expect(await evaluate(restart)).toMatchObject(restarted);
      expect(stack().arrivals()).toBe(1);
    });

    // Last, because the gateway that starts after a crash ends with its test.
    test.each(faultCases)('survives $name', async ({ faults, result, arrivals }) => {
      stack().prepare(['none', ...faults]);
      expect(await evaluate(restart)).toMatchObject(result as object);
      expect(stack().arrivals()).toBe(arrivals);
    });
  },
);
