import { setTimeout as sleep } from 'node:timers/promises';
import type { Intent, Told } from './intent.ts';
import { type Ledger, membersOf } from './ledger.ts';

/** The pause before a request is repeated, in milliseconds; it doubles up to the second. */
const PAUSE_MS = { first: 50, last: 1000 };

/** What a client learned that ended its repeats. */
type Final = Exclude<Told, { kind: 'repeat' }>;

/** What the client of one intent learned, in order. */
export type History = {
  id: string;
  /** The number of requests until the first final response. */
  requests: number;
  /** Why requests were repeated. */
  reasons: string[];
  /** The final responses: the first one, and those to later repeats. */
  finals: Final[];
  contradictions: string[];
};

export function newHistory(id: string): History {
  return { id, requests: 0, reasons: [], finals: [], contradictions: [] };
}

/**
 * Sends the request of an intent until the response is final, and adds that to the history. Ends without one
 * after `maxRequests` requests.
 */
export async function settle(
  { id }: Intent,
  history: History,
  ledger: Ledger,
  maxRequests: number,
  sendOnce: () => Promise<Told>,
): Promise<void> {
  const isFirst = history.finals.length === 0;
  let pauseMs = PAUSE_MS.first;
  for (let n = 0; n < maxRequests; n++) {
    const arrivedBefore = ledger.accepted(id).length > 0;
    const told = await sendOnce();
    if (isFirst) history.requests += 1;
    if (told.kind !== 'repeat') {
      history.finals.push(told);
      return;
    }
    history.reasons.push(told.reason);
    // This error says that nothing was sent, and that the key is free.
    if (arrivedBefore && told.reason.startsWith('UPSTREAM_')) {
      history.contradictions.push(`${id}: ${told.reason} after an arrival`);
    }
    await sleep(pauseMs * (0.5 + Math.random() / 2));
    pauseMs = Math.min(pauseMs * 2, PAUSE_MS.last);
  }
}

/** What is the same in all final responses to one intent. */
export function textOf(final: Final): string {
  if (final.kind === 'refused') return final.code;
  const { code, __typename } = final.member;
  // The response about an orphaned claim names its own request; every other one names the first request.
  return code === 'ORPHANED' ? `${__typename} ${code}` : JSON.stringify(final.member);
}

/** What a response was, without what distinguishes intents. */
export function nameOf(told: Told): string {
  if (told.kind === 'repeat') return told.reason;
  if (told.kind === 'refused') return told.code;
  const { __typename, code } = told.member;
  return code === undefined ? __typename : `${__typename} ${code}`;
}

/** Whether a final response differs from what happened at the service. Returns how, or undefined. */
export function contradictionOf(id: string, final: Final, ledger: Ledger): string | undefined {
  const accepted = ledger.accepted(id);
  const [arrival] = accepted;
  const told = textOf(final);
  const fact = `${id}: ${told}, but ${accepted.map(({ answer }) => answer).join(', ') || 'no arrival'}`;
  if (accepted.length > 1) return fact;
  if (final.kind === 'refused') {
    const isRefused = final.code === 'UPSTREAM_BAD_REQUEST' && ledger.arrivals.has(id);
    return isRefused && !arrival ? undefined : fact;
  }
  const { __typename, code, message, unresolved } = final.member;
  if (code === 'UPSTREAM_FAILED') return arrival?.answer.startsWith('status') ? undefined : fact;
  if (code !== undefined) return undefined; // Unknown: it arrived or not.
  const isSame =
    arrival !== undefined &&
    membersOf[arrival.answer]?.test(__typename) &&
    (message ?? unresolved) === arrival.text;
  return isSame ? undefined : fact;
}
