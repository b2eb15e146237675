import { lostBody, toResponse } from './answer.ts';
import type { Intent } from './intent.ts';
import { noteIntent } from './sent-intent.ts';
import { hash } from './token.ts';

/** A write that this page sends, or has sent shortly before. */
type Sending = {
  readonly intent: Intent;
  readonly response: Promise<Response>;
  /** In the time of `performance.now()`. Infinite while it is sent. */
  endedAt: number;
};

const sendings = new Map<string, Sending>();

/** How long a click may wait for its token, in milliseconds. */
const LONGEST_WAIT_MS = 30_000;

export type Click = {
  readonly intent: Intent;
  readonly user: string;
  /** The gateway, the document and its variables. */
  readonly text: string;
  /** In the time of `performance.now()`. */
  readonly startedAt: number;
};

/**
 * Sends a write. If the page sends the same write of the same user already, or ended less than `ms` milliseconds
 * before, it is a double click: both get one result.
 */
export async function sendOnce(
  { intent, user, text, startedAt }: Click,
  ms: number,
  send: () => Promise<Response>,
): Promise<Response> {
  if (ms <= 0) return send();
  for (const [id, { endedAt }] of sendings) {
    if (endedAt + ms + LONGEST_WAIT_MS < performance.now()) sendings.delete(id);
  }
  const id = `${user} ${hash(text)}`;
  const other = sendings.get(id);
  if (other && startedAt - other.endedAt <= ms) {
    noteIntent(intent, user, other.intent);
    // If the first one was aborted, all that is known is that it may have been sent.
    const response = await other.response.catch(() => toResponse(lostBody(other.intent)));
    return response.clone();
  }
  const sending = { intent, response: send(), endedAt: Number.POSITIVE_INFINITY };
  sendings.set(id, sending);
  const end = () => {
    sending.endedAt = performance.now();
  };
  sending.response.then(end, end);
  // A response can be copied until its body is read.
  return (await sending.response).clone();
}

/** After an intent was asked about, the next click is a new decision. */
export function endDoubleClick(intent: Intent): void {
  for (const [id, sending] of sendings) {
    const hasEnded = Number.isFinite(sending.endedAt);
    if (sending.intent === intent && hasEnded) sendings.delete(id);
  }
}
