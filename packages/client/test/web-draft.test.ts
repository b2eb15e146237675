import { beforeEach, expect, test } from '@jest/globals';
import { act, createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { useDraft } from '../../../examples/web/src/use-draft.ts';
import { createStorage, replace } from './stub-gateway.ts';

/** Where React runs. */
declare const native: typeof globalThis;

beforeEach(() => {
  replace(native, 'IS_REACT_ACT_ENVIRONMENT', true);
  replace(native, 'window', { HTMLIFrameElement: class {} });
});
const createDocument = () => ({ nodeType: 9, addEventListener() {} }) as unknown as Document;

test('a draft that does not fit into the storage is not taken for an older one after a reload', async () => {
  const storage = createStorage();
  const setItem = (name: string, text: string) => {
    if (text.length > 10) throw new DOMException('', 'QuotaExceededError');
    storage.setItem(name, text);
  };
  replace(globalThis, 'sessionStorage', { ...storage, setItem });
  let change: ((text: string) => void) | undefined;
  let shown: string | undefined;
  function Form() {
    [shown, change] = useDraft('form', () => '');
    return null;
  }
  const root = createRoot(createDocument());
  await act(() => root.render(createElement(Form)));
  await act(() => change?.('Ada'));
  await act(() => change?.('a text that is too long'));
  await act(() => root.unmount());

  const reloaded = createRoot(createDocument());
  await act(() => reloaded.render(createElement(Form)));
  expect(shown).toBe('');
  await act(() => reloaded.unmount());
});
