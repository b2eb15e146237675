import type { Intent } from './intent.ts';
import { sentFor } from './sent-intent.ts';

/** What stops the attempts of a write, while it is sent. */
const running = new Map<Intent, AbortController>();

/**
 * Stops the attempts of a write that this page sends. Its request then settles, and its promise gets the result: what
 * became of it, or that it was not executed and never will be. It works with every client, also with one that has no
 * way to cancel. Returns false if the page does not send the intent; `settle` then tells what became of it.
 */
export function cancel(intent: Intent): boolean {
  const attempts = running.get(sentFor(intent));
  attempts?.abort();
  return attempts !== undefined;
}

/** Runs `action` with a signal that aborts with `signal`, or when the intent is cancelled. */
export async function untilCancelled<Value>(
  intent: Intent,
  signal: AbortSignal | null | undefined,
  action: (stop: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const stop = new AbortController();
  const abort = () => stop.abort(signal?.reason);
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  running.set(intent, stop);
  try {
    return await action(stop.signal);
  } finally {
    signal?.removeEventListener('abort', abort);
    if (running.get(intent) === stop) running.delete(intent);
  }
}
