import type { Intent, Progress } from './intent.ts';
import type { Caller } from './token.ts';

/** What this page knows of an intent. The first four survive a reload, if the tab has a storage with room. */
export type KnownIntent = {
  /** A hash of who sent it. */
  user?: string;
  /** A hash of the body of its request, unless that did nothing, for certain. */
  request?: string | undefined;
  /** Whether it may have taken effect in a way that is not known yet. */
  isOpen?: boolean;
  /** A hash of all that makes two requests a double click. */
  joinId?: string | undefined;
  /** The intent that was sent for it: itself, or that of the click just before. */
  sentAs: Intent;
  /** What stops its requests. Empty when their results are known. */
  stops?: Set<AbortController>;
  onProgress?: ((progress: Progress) => void) | undefined;
  /** What a double click gets. */
  response?: Promise<Response> | undefined;
  /** In the time of `performance.now()`. Undefined while it is sent. */
  endedAt?: number | undefined;
};

const ITEM = 'ledger-gateway:intents';

/** How many of the last intents are kept, and all that are open. */
const KEPT = 200;

let loaded: Map<Intent, KnownIntent> | undefined;

export function knownIntents(): Map<Intent, KnownIntent> {
  try {
    // Only this file writes them.
    loaded ??= new Map(JSON.parse(sessionStorage.getItem(ITEM) ?? ''));
  } catch {
    // There is no storage, or nothing in it.
    loaded = new Map();
  }
  return loaded;
}

/** Creates an intent. Call it when the user decides, such as in the listener of the click. */
export function newIntent(): Intent {
  const intent = [Date.now(), ...randomNumbers()].map((number) => number.toString(36)).join('-');
  knownIntents().set(intent, { sentAs: intent });
  return intent;
}

/** Some engines have no `crypto`. A key only has to differ from the others of the same user. */
function randomNumbers(): Iterable<number> {
  const numbers = Uint32Array.of(0, 0, 0, 0);
  return (
    globalThis.crypto?.getRandomValues?.(numbers) ?? numbers.map(() => 2 ** 32 * Math.random())
  );
}

/** What is known of an intent. One that is not from this tab may have been sent before. */
export const recall = (intent: Intent): KnownIntent =>
  knownIntents().get(intent) ?? { sentAs: intent, isOpen: true };

/** Whether nothing was sent with it, or nothing that had an effect, for certain. */
export const isUnsent = ({ request, isOpen }: KnownIntent): boolean => !isOpen && !request;

/** Notes this of an intent. Call it before the intent is sent. */
export function note(intent: Intent, changes: Partial<KnownIntent>): KnownIntent {
  const intents = knownIntents();
  const known = Object.assign(recall(intent), changes);
  intents.set(intent, known);
  for (const [oldest, { sentAs }] of intents) {
    if (intents.size > KEPT && !intents.get(sentAs)?.isOpen) intents.delete(oldest);
  }
  try {
    // Of what is not kept, it is not known after a reload whether it was sent.
    const sent = [...intents].filter(([, each]) => !isUnsent(each));
    const text = JSON.stringify(sent, ['user', 'request', 'isOpen', 'sentAs']);
    sessionStorage.setItem(ITEM, text);
  } catch {
    // It is known until the page is left.
  }
  return known;
}

/**
 * Stops the attempts of a write that this page sends. Its request then settles, and its promise gets the result: what
 * became of it, or that it was not executed and never will be. It works with every client, also with one that has no
 * way to cancel. Returns false if the page does not send the intent; `settle` then tells what became of it.
 */
export function cancel(intent: Intent): boolean {
  const { stops } = recall(recall(intent).sentAs);
  for (const stop of stops ?? []) stop.abort();
  return Boolean(stops?.size);
}

/** Why this caller may not send a request with an intent: for the gateway, the same key of another user is another write. */
export function conflictOf(
  { user, request }: KnownIntent,
  caller: Caller | undefined,
  ownRequest = request,
): 'SIGN_IN_FAILED' | 'OTHER_USER' | 'INTENT_REUSED' | undefined {
  if (!caller) return 'SIGN_IN_FAILED';
  if (user !== undefined && user !== caller.user) return 'OTHER_USER';
  return !request || request === ownRequest ? undefined : 'INTENT_REUSED';
}
