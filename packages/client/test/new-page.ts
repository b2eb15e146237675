import { parentPort, workerData } from 'node:worker_threads';

/** What a page is that was just loaded: it runs in a worker, which has no other module loaded. */
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

const page: NewPage = workerData;
const { url, token, items, later = {}, aheadMs = 0, resume } = page;
const { now } = Date;
Date.now = () => now() + aheadMs;
const stored = new Map(Object.entries(items ?? {}));
const storage = {
  getItem: (name: string) => stored.get(name) ?? null,
  setItem: (name: string, text: string) => void stored.set(name, text),
  removeItem: (name: string) => void stored.delete(name),
};
Object.defineProperty(globalThis, 'sessionStorage', {
  get() {
    if (items) return storage;
    throw new DOMException('', 'SecurityError');
  },
});

// After the storage is there, as in a browser.
const { createLedgerFetch, createWrite, readField, withIntent } = await import('../src/index.ts');
for (const [name, text] of Object.entries(later)) stored.set(name, text);
const options = { url, token: () => token, delayMs: 2, patienceMs: 50, attemptMs: 1_000 };

async function send({ intent, init }: NonNullable<NewPage['resume']>): Promise<unknown> {
  const response = await createLedgerFetch(options)(url, withIntent(init, intent));
  return readField<{ save: object }, 'save'>(await response.json(), 'save');
}

async function ask(): Promise<unknown> {
  const write = createWrite({ ...options, field: 'save', send: async () => ({}) });
  await new Promise<void>((resolve) => {
    const look = () => void (write.getState().phase !== 'asking' && resolve());
    write.subscribe(look);
    look();
  });
  return write.getState();
}

const result = await (resume ? send(resume) : ask());
parentPort?.postMessage({ result, stored: Object.fromEntries(stored) });
