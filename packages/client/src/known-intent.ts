import { type Intent, now, type Progress } from './intent.ts';
import { parseJson, tryTo } from './response.ts';

/** What this page knows of an intent. The first five properties survive a reload, if the tab has a storage with free space. */
export type KnownIntent = {
  /** A hash of the user who sends it. */
  user?: string | undefined;
  /** A hash of the body of its request. Undefined if the request certainly did nothing. */
  request?: string | undefined;
  /** Whether it may have taken effect, and its outcome is not known yet. */
  isOpen?: boolean;
  /** Whether it was sent only while keys were seen to arrive. Undefined for an intent that is not from this tab. */
  arrives?: boolean | undefined;
  /** The intent that was sent in its place: itself, or for the second click of a double click, that of the first one. */
  sentAs: Intent;
  /** The name of its `createWrite`, or an empty text. Undefined for a key that the app made. Such a key never joins another write. */
  name?: string | undefined;
  /** What must be equal in two requests of a double click. It is no text if a further click cannot be part of one. */
  joinId?: string | false | undefined;
  /** A hash of the variables of `createWrite`. */
  variables?: string | undefined;
  /** The response that the second click of a double click gets as well. */
  response?: Promise<Response>;
  /** Stops the request that was sent last with it. */
  stop?: AbortSignal;
  /** When this page first sent it, in the time of `now()`. 0 once it was settled. */
  startedAt?: number | undefined;
  /** When sending ended, in the time of `performance.now()`. Undefined until then. */
  endedAt?: number | undefined;
};

/** How many pages the tests of an app have begun (`testing.ts`). Anywhere else, there is one. */
export const page = { count: 0 };

const ITEM = 'ledger-gateway:intents';

/** How many intents are kept: the latest ones. All open ones are kept, too. */
const KEPT = 200;

/** What this page knows of its intents. Only this file writes them to the storage. */
export const knownIntents = new Map<Intent, KnownIntent>();

/**
 * Restores what was known before a reload, or what another page of the tab or another copy of this package has stored since. If
 * an intent is not readable, `recall` says that it may have been sent.
 */
function restore(): void {
  // Other code of the page may have written to the storage.
  for (const entry of [parseJson(tryTo(() => sessionStorage.getItem(ITEM)))].flat()) {
    tryTo(() => {
      const [intent, { user, request = '', isOpen, arrives = false, sentAs }] = Object(entry);
      const isNew = !knownIntents.has(intent);
      if (isNew && [intent, user, request, sentAs].every((value) => typeof value === 'string')) {
        // Only what was sent is stored.
        const mayHaveEffect = isOpen !== false || !request;
        knownIntents.set(intent, { user, request, isOpen: mayHaveEffect, arrives, sentAs });
      }
    });
  }
}

/** Aborts the requests of each intent that this page sends. */
export const stops = new Map<AbortController, Intent>();

/**
 * The intent that is settled to learn whether keys arrive. No write has it, and all pages of a user have the same one, so that
 * the gateway keeps one record for it.
 */
export const PROBE = 'do-keys-arrive';

/** The addresses at which keys were seen to arrive. */
export const arriving = new Set<string>();

/** Listeners that are called for every write of this page. */
export const listeners = new Set<(progress: Progress) => void>();

/** Creates an intent. Call it when the user decides, such as in the listener of the click. */
export const newIntent = (): Intent => createIntent();

/** Creates an intent. With a name, it may join another intent of this name, as the second click of a double click. */
export function createIntent(name?: string): Intent {
  // What another page has stored is older than this intent.
  restore();
  // Some engines have no `crypto`. A key only has to differ from other keys of the same user.
  const numbers = new Uint32Array(4).map(() => 2 ** 32 * Math.random());
  globalThis.crypto?.getRandomValues?.(numbers);
  const intent = [Math.floor(now()), ...numbers].map((number) => number.toString(36)).join('-');
  knownIntents.set(intent, { sentAs: intent, name });
  return intent;
}

/** What is known of an intent. An intent that is not from this tab may have been sent before. */
export function recall(intent: Intent): KnownIntent {
  if (!knownIntents.has(intent)) restore();
  return knownIntents.get(intent) ?? { sentAs: intent, isOpen: true };
}

/** A copy of the response to an intent that this page sends, if there is one. A body can be read only once. */
export async function responseTo(intent: Intent): Promise<Response | undefined> {
  const response = await recall(recall(intent).sentAs).response?.catch(() => {});
  return response?.clone();
}

/** Whether it is certain that nothing was sent with the intent, or that nothing sent took effect. */
export const isUnsent = ({ request, isOpen }: KnownIntent): boolean => !isOpen && !request;

/** Stores changes of what is known of an intent. Call it before the intent is sent. */
export function note(intent: Intent, changes: Partial<KnownIntent>): KnownIntent {
  restore();
  const known = Object.assign(recall(intent), changes);
  knownIntents.set(intent, known);
  for (const [oldest, { sentAs }] of knownIntents) {
    if (knownIntents.size > KEPT && !knownIntents.get(sentAs)?.isOpen) knownIntents.delete(oldest);
  }
  // Without a storage, or with a full one, intents are known until the page is left. After a reload, an intent that was not
  // stored counts as one that may have been sent.
  const text = JSON.stringify(
    [...knownIntents].filter(([, each]) => !isUnsent(each)),
    ['user', 'request', 'isOpen', 'arrives', 'sentAs'],
  );
  tryTo(() => sessionStorage.setItem(ITEM, text));
  return known;
}

/**
 * Stops the attempts of a write that this page sends, and settles it. The promise of the request then gets the result:
 * the outcome, or that the write was not executed and never will be. This works with every client, even if the client cannot
 * cancel. Returns false if the page does not send the intent. `settle` then returns the outcome.
 */
export function cancel(intent: Intent): boolean {
  const { sentAs } = recall(intent);
  const own = [...stops].filter(([, each]) => recall(each).sentAs === sentAs);
  for (const [stop] of own) stop.abort();
  return own.length > 0;
}
