import { parseJson, tryTo } from './answer.ts';
import { type Intent, now, type Progress } from './intent.ts';

/** What this page knows of an intent. The first four survive a reload, if the tab has a storage with room. */
export type KnownIntent = {
  /** A hash of who sends it. */
  user?: string | undefined;
  /** A hash of the body of its request, unless that did nothing, for certain. */
  request?: string | undefined;
  /** Whether it may have taken effect in a way that is not known yet. */
  isOpen?: boolean;
  /** The intent that was sent for it: itself, or that of the click just before. */
  sentAs: Intent;
  /** The name of its `createWrite`, or an empty text. Undefined for a key of the app, which joins no other write. */
  name?: string | undefined;
  /** All that makes two requests a double click, as long as the next one can be. */
  joinId?: string | undefined;
  /** A hash of the variables of `createWrite`. */
  variables?: string | undefined;
  /** What a double click gets. */
  response?: Promise<Response>;
  /** When this page sent it first, in the time of `performance.now()`. */
  startedAt?: number | undefined;
  /** In the time of `performance.now()`. Undefined while it is sent. */
  endedAt?: number | undefined;
};

const ITEM = 'ledger-gateway:intents';

/** How many of the last intents are kept, and all that are open. */
const KEPT = 200;

/** What this page knows of its intents. Only this file writes the storage. */
export const knownIntents = new Map<Intent, KnownIntent>();

// Anybody may have written what is stored.
for (const entry of [parseJson(tryTo(() => sessionStorage.getItem(ITEM)))].flat()) {
  tryTo(() => restore(entry));
}

/** Restores what was known before a reload, if it is readable. Otherwise, `recall` says that the intent may have been sent. */
function restore(entry: unknown): void {
  const [intent, { user, request = '', isOpen, sentAs }] = Object(entry);
  const isReadable = [intent, user, request, sentAs].every((value) => typeof value === 'string');
  // What was not sent is not stored.
  const wasOpen = isOpen !== false || !request;
  if (isReadable) knownIntents.set(intent, { user, request, isOpen: wasOpen, sentAs });
}

/** What stops the requests of each intent that this page sends. */
export const stops = new Map<AbortController, Intent>();

/** They hear of every write of this page. */
export const listeners = new Set<(progress: Progress) => void>();

/** Creates an intent. Call it when the user decides, such as in the listener of the click. */
export const newIntent = (): Intent => createIntent();

/** Creates an intent. With a name, it may join another one of this name. */
export function createIntent(name?: string): Intent {
  // Some engines have no `crypto`. A key only has to differ from the others of the same user.
  const numbers = new Uint32Array(4).map(() => 2 ** 32 * Math.random());
  globalThis.crypto?.getRandomValues?.(numbers);
  const intent = [Math.floor(now()), ...numbers].map((number) => number.toString(36)).join('-');
  knownIntents.set(intent, { sentAs: intent, name });
  return intent;
}

/** What is known of an intent. One that is not from this tab may have been sent before. */
export const recall = (intent: Intent): KnownIntent =>
  knownIntents.get(intent) ?? { sentAs: intent, isOpen: true };

/** Whether nothing was sent with it, or nothing that had an effect, for certain. */
export const isUnsent = ({ request, isOpen }: KnownIntent): boolean => !isOpen && !request;

/** Notes this of an intent. Call it before the intent is sent. */
export function note(intent: Intent, changes: Partial<KnownIntent>): KnownIntent {
  const known = Object.assign(recall(intent), changes);
  knownIntents.set(intent, known);
  for (const [oldest, { sentAs }] of knownIntents) {
    if (knownIntents.size > KEPT && !knownIntents.get(sentAs)?.isOpen) knownIntents.delete(oldest);
  }
  // Without a storage, or with a full one, they are known until the page is left. After a reload, one that is not kept may
  // have been sent.
  const sent = [...knownIntents].filter(([, each]) => !isUnsent(each));
  const text = JSON.stringify(sent, ['user', 'request', 'isOpen', 'sentAs']);
  tryTo(() => sessionStorage.setItem(ITEM, text));
  return known;
}

/**
 * Stops the attempts of a write that this page sends. Its request then settles, and its promise gets the result: what
 * became of it, or that it was not executed and never will be. It works with every client, also with one that has no
 * way to cancel. Returns false if the page does not send the intent; `settle` then tells what became of it.
 */
export function cancel(intent: Intent): boolean {
  const { sentAs } = recall(intent);
  const own = [...stops].filter(([, each]) => recall(each).sentAs === sentAs);
  for (const [stop] of own) stop.abort();
  return own.length > 0;
}
