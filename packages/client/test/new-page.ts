import { AsyncLocalStorage } from 'node:async_hooks';
import { registerHooks } from 'node:module';
import { parentPort } from 'node:worker_threads';

/** A page that was just loaded. It has modules of its own. */
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

/** The storage and the clock of the page whose code runs. The timers of an earlier page keep those of that page. */
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

// The imports of a module get the query of its URL. So each page, which has a query of its own, loads all modules anew.
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
