import { beforeEach, expect, test } from '@jest/globals';
import { act, createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { renderToString } from 'react-dom/server';
import { until } from '../../../testkit/eventually.ts';
import { createLedgerFetch } from '../src/index.ts';
import { useWrite } from '../src/react.ts';
import {
  createStorage,
  type Data,
  replace,
  startStubGateway,
  tokenOf,
  unknown,
} from './stub-gateway.ts';

/** Where React runs. */
declare const native: typeof globalThis;

/** All that React asks of a document in which its components show nothing. */
beforeEach(() => {
  replace(native, 'IS_REACT_ACT_ENVIRONMENT', true);
  replace(native, 'window', { HTMLIFrameElement: class {} });
});
const createDocument = () => ({ nodeType: 9, addEventListener() {} }) as unknown as Document;

type Row = { readonly name: string; readonly text: string; readonly url?: string };

/** Opens a page with a row of a table, whose button is a write. Its outcome stays orphaned. */
async function openPage() {
  const { origin, requests } = await startStubGateway([unknown('ORPHANED')]);
  const ledger = { token: () => tokenOf('ada'), storage: createStorage() };
  const ledgerFetch = createLedgerFetch(ledger);
  const phases: string[] = [];
  let button: { submit(): void } | undefined;

  function Button({ name, text, url = origin }: Row) {
    const write = useWrite<'save', Data['save']>({
      ...ledger,
      ...{ field: 'save', name, url },
      async send(headers) {
        const body = JSON.stringify({ query: 'mutation { save }', variables: { text } });
        return (await ledgerFetch(url, { method: 'POST', headers, body })).json();
      },
    });
    const { phase } = write.state;
    if (phases.at(-1) !== phase) phases.push(phase);
    button = write;
    return null;
  }

  const root = createRoot(createDocument());
  return {
    phases,
    renderOnServer: (row: Row) => renderToString(createElement(Button, row)),
    render: (row: Row) => act(() => root.render(createElement(Button, row))),
    leave: () => act(() => root.unmount()),
    click: () =>
      act(async () => {
        button?.submit();
        await until(() => phases.at(-1) === 'unknown');
      }),
    texts: () => requests.map(({ body }) => JSON.parse(body).variables.text),
  };
}

test('a component shows each state of its write, and sends what it was rendered with last', async () => {
  const page = await openPage();
  await page.render({ name: 'row-1', text: 'Ada' });
  await page.render({ name: 'row-1', text: 'Bob' });
  await page.click();
  expect(page.phases).toEqual(['idle', 'sending', 'unknown']);
  expect(page.texts()).toEqual(['Bob']);
  await page.leave();
});

test.each([
  ['row', { name: 'row-2', text: 'Bob' }],
  ['gateway', { name: 'row-1', text: 'Ada', url: 'http://localhost' }],
])('a component that is rendered for another %s shows the write of that one', async (_, other) => {
  const page = await openPage();
  await page.render({ name: 'row-1', text: 'Ada' });
  await page.click();
  await page.render(other);
  expect(page.phases.at(-1)).toBe('idle');
  await page.leave();
});

test('a server renders an idle button, also if the storage has an open write', async () => {
  const page = await openPage();
  await page.render({ name: 'row-1', text: 'Ada' });
  await page.click();
  page.renderOnServer({ name: 'row-1', text: 'Ada' });
  expect(page.phases.at(-1)).toBe('idle');
  await page.leave();
});
