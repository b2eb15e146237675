type Signal = AbortSignal | null | undefined;

/** Runs `action` with a signal that aborts after `ms` milliseconds, or with `signal`. Rejects as soon as it does. */
export async function withDeadline<Value>(
  ms: number,
  signal: Signal,
  action: (end: AbortSignal) => Promise<Value>,
): Promise<Value> {
  // Older browsers have no AbortSignal.any.
  const end = new AbortController();
  const abort = () => end.abort();
  // A timer cannot be longer than 24 days.
  const timer = setTimeout(abort, Math.min(ms, 2e9));
  signal?.addEventListener('abort', abort, { signal: end.signal });
  try {
    throwIfAborted(signal);
    const ended = new Promise<never>((_, reject) => {
      end.signal.onabort = () => reject(reasonOf(signal));
    });
    return await Promise.race([ended, action(end.signal)]);
  } finally {
    clearTimeout(timer);
    abort();
  }
}

/** Waits for `ms` milliseconds, or until `signal` aborts, or `event` happens to the page. */
export const wait = (ms: number, signal: Signal, event = ''): Promise<unknown> =>
  withDeadline(
    ms,
    signal,
    (end) =>
      new Promise<unknown>((resolve) => {
        globalThis.addEventListener?.(event, resolve, { signal: end });
      }),
  ).catch(() => {});

/** `signal.throwIfAborted()`, which older browsers do not have. */
export function throwIfAborted(signal: Signal): void {
  if (signal?.aborted) throw reasonOf(signal);
}

/** The reason for ending: that of `signal`, which older browsers do not set, or a timeout. */
const reasonOf = (signal: Signal): unknown =>
  signal?.reason ?? new DOMException('', signal?.aborted ? 'AbortError' : 'TimeoutError');

/** Whether the device says that it has no connection. With a VPN or a firewall, it may have one all the same. */
export const isOffline = (): boolean => globalThis.navigator?.onLine === false;
