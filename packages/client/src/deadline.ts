/** Runs `action` with a signal that aborts after `ms` milliseconds, or with `signal`. Rejects as soon as it does. */
export async function withDeadline<Value>(
  ms: number,
  signal: AbortSignal | null | undefined,
  action: (end: AbortSignal) => Value | Promise<Value>,
): Promise<Value> {
  // Older browsers have no AbortSignal.any.
  const end = new AbortController();
  const abort = () => end.abort(signal?.reason);
  const expire = () => end.abort(domError('The time is over.', 'TimeoutError'));
  const timer = ms < 2 ** 31 ? setTimeout(expire, ms) : undefined;
  signal?.addEventListener('abort', abort);
  if (signal?.aborted) abort();
  try {
    return await new Promise<Value>((resolve, reject) => {
      const fail = () => reject(end.signal.reason ?? domError('Aborted.', 'AbortError'));
      if (end.signal.aborted) return fail();
      end.signal.addEventListener('abort', fail);
      Promise.resolve(end.signal).then(action).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

function domError(message: string, name: string): Error {
  return Object.assign(new Error(message), { name });
}

/** Waits, at most until `wake` happens to the page. Rejects if `signal` aborts. */
export async function sleep(
  ms: number,
  signal: AbortSignal | null | undefined,
  wake?: 'online',
): Promise<void> {
  let stop = () => {};
  const woken = new Promise<void>((resolve) => {
    stop = () => resolve();
    if (wake) globalThis.addEventListener?.(wake, stop);
  });
  await withDeadline(ms, signal, () => woken).catch(() => throwIfAborted(signal));
  if (wake) globalThis.removeEventListener?.(wake, stop);
}

/** `signal.throwIfAborted()`, which older browsers do not have. */
export function throwIfAborted(signal: AbortSignal | null | undefined): void {
  if (signal?.aborted) throw signal.reason ?? domError('Aborted.', 'AbortError');
}
