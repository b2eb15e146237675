import { AsyncLocalStorage } from 'node:async_hooks';
import { registerHooks } from 'node:module';
import { parentPort } from 'node:worker_threads';

/** What a page is that was just loaded: it has modules of its own. */
export type NewPage = {
  readonly url: string;
  readonly token: string;
  /** What its storage holds. Without it, each access to the storage fails. */
  readonly items?: Readonly<Record<string, string>>;
  /** What another page of the tab has written to the storage since this one was loaded. */
  readonly later?: Readonly<Record<string, string>>;
  /** How far its clock is ahead. */
  readonly aheadMs?: number;
  /** An intent that it sends with this request. Otherwise, it shows a button that asks about what is open. */
  readonly resume?: { readonly intent: string; readonly init: RequestInit };
};

/** The storage and the clock of what runs, which includes the timers of a page that was left. */
const pages = new AsyncLocalStorage<{ storage: object | undefined; aheadMs: number }>();
const { now } = Date;
Date.now = () => now() + (pages.getStore()?.aheadMs ?? 0);
Object.defineProperty(globalThis, 'sessionStorage', {
  get() {
    const { storage } = pages.getStore() ?? {};
    if (storage) return storage;
    throw new DOMException('', 'SecurityError');
  },
});

// A module that is loaded with a query gets its imports with the same query, so they are loaded anew, too.
registerHooks({
  resolve(specifier, context, next) {
    const resolved = next(specifier, context);
    const { search } = new URL(context.parentURL ?? 'file:');
    return resolved.url.startsWith('file:')
      ? { ...resolved, url: resolved.url + search }
      : resolved;
  },
});

let count = 0;

/** Loads a page, and returns what it shows in the end, and what its storage holds then. */
async function show({ url, token, items, later = {}, aheadMs = 0, resume }: NewPage) {
  const stored = new Map(Object.entries(items ?? {}));
  const storage = {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, text: string) => void stored.set(name, text),
    removeItem: (name: string) => void stored.delete(name),
  };
  const result = await pages.run({ storage: items && storage, aheadMs }, async () => {
    count += 1;
    const client: typeof import('../src/index.ts') = await import(`../src/index.ts?page=${count}`);
    for (const [name, text] of Object.entries(later)) stored.set(name, text);
    const options = { url, token: () => token, delayMs: 2, patienceMs: 50, attemptMs: 1_000 };
    if (resume) {
      const send = client.createLedgerFetch(options);
      const response = await send(url, client.withIntent(resume.init, resume.intent));
      return client.readField<{ save: object }, 'save'>(await response.json(), 'save');
    }
    const write = client.createWrite({ ...options, field: 'save', send: async () => ({}) });
    await new Promise<void>((resolve) => {
      const look = () => void (write.getState().phase !== 'asking' && resolve());
      write.subscribe(look);
      look();
    });
    return write.getState();
  });
  return { result, stored: Object.fromEntries(stored) };
}

parentPort?.on('message', async (page: NewPage) => parentPort?.postMessage(await show(page)));
