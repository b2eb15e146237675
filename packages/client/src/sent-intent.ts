import { parseJson } from './answer.ts';
import type { Intent } from './intent.ts';

/** Whose an intent is, and the intent that was sent for it: itself, or that of the click just before. */
type Sent = readonly [user: string, intent: Intent];

const ITEM = 'ledger-gateway:intents';

/** How many of the last intents are kept. */
const KEPT = 200;

let known: Map<Intent, Sent> | undefined;

/** The intents of this tab. Its storage keeps them over a reload, if there is one. */
function load(): Map<Intent, Sent> {
  if (known) return known;
  try {
    const entries = parseJson(sessionStorage.getItem(ITEM));
    // Only this file writes them.
    known = new Map(Array.isArray(entries) ? entries : []);
  } catch {
    known = new Map();
  }
  return known;
}

/** The intent that was sent for an intent. */
export const sentFor = (intent: Intent): Intent => load().get(intent)?.[1] ?? intent;

/** Whether an intent may be of a user: for the gateway, the same key of another user is another write. */
export function mayBeOf(intent: Intent, user: string): boolean {
  const sent = load().get(intent);
  return sent === undefined || sent[0] === user;
}

/** Notes an intent before it is sent. `sentAs` is the intent that is sent in its place. */
export function noteIntent(intent: Intent, user: string, sentAs = intent): void {
  const intents = load();
  intents.set(intent, [user, sentAs]);
  for (const oldest of intents.keys()) {
    if (intents.size <= KEPT) break;
    intents.delete(oldest);
  }
  try {
    sessionStorage.setItem(ITEM, JSON.stringify([...intents]));
  } catch {
    // It is known until the page is left.
  }
}
