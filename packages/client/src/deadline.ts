type Signal = AbortSignal | null | undefined;

/** Runs `action` with a signal that aborts after `ms` milliseconds, or with `signal`. Rejects as soon as it does. */
export async function withDeadline<Value>(
  ms: number,
  signal: Signal,
  action: (end: AbortSignal) => Value | Promise<Value>,
): Promise<Value> {
  // Older browsers have no AbortSignal.any.
  const end = new AbortController();
  const abort = () => end.abort();
  const timer = ms < 2 ** 31 ? setTimeout(abort, ms) : undefined;
  signal?.addEventListener('abort', abort);
  try {
    throwIfAborted(signal);
    const ended = new Promise<never>((_, reject) => {
      end.signal.onabort = () => reject(domError('TimeoutError'));
    });
    return await Promise.race([ended, action(end.signal)]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

const domError = (name: string): Error => Object.assign(new Error(name), { name });

/** Waits for `ms` milliseconds, or until `signal` aborts, or `event` happens to the page. */
export const wait = (ms: number, signal: Signal, event = ''): Promise<unknown> =>
  withDeadline(
    ms,
    signal,
    (end) =>
      new Promise<unknown>((resolve) => {
        globalThis.addEventListener?.(event, resolve, { signal: end, once: true });
      }),
  ).catch(() => {});

/** `signal.throwIfAborted()`, which older browsers do not have. */
export function throwIfAborted(signal: Signal): void {
  if (signal?.aborted) throw signal.reason ?? domError('AbortError');
}
