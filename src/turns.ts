import { setImmediate as immediate } from 'node:timers/promises';

/** What is larger than this, in bytes or characters, is long work. */
export const LONG = 500_000;

/** How often the event loop goes round in a pause, so that others have all of their turns. */
const ROUNDS = 3;

/** What waits for its turn: to begin, and to go on with what was begun. */
const beginning: (() => Promise<void>)[] = [];
const goingOn: (() => void)[] = [];
let busy = false;

/**
 * Begins long work when its turn has come. What takes tens of milliseconds, such as decoding a list of 50,000
 * or writing it, is done one at a time, after a pause. What was begun is ended first: else nobody would be
 * answered until everybody's list is decoded, and all of them would be held until then. Work that nobody
 * wants any more (`wanted` is aborted) before its turn comes is not begun, and told so at once.
 */
export function inTurn<Result>(work: () => Promise<Result>, wanted?: AbortSignal): Promise<Result> {
  if (wanted?.aborted) return Promise.reject(wanted.reason);
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const begin = () => {
    wanted?.removeEventListener('abort', giveUp);
    return work().then(resolve, reject);
  };
  const giveUp = () => {
    beginning.splice(beginning.indexOf(begin), 1);
    reject(wanted?.reason);
  };
  wanted?.addEventListener('abort', giveUp, { once: true });
  beginning.push(begin);
  void serve();
  return promise;
}

/** Resolves when work that was begun may go on. */
export function nextTurn(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  goingOn.push(resolve);
  void serve();
  return promise;
}

/** Lets everything else have its turns of the event loop. */
export async function pause(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await immediate();
}

async function serve(): Promise<void> {
  if (busy) return;
  busy = true;
  while (beginning.length + goingOn.length > 0) {
    await pause();
    await (goingOn.shift() ?? beginning.shift())?.();
  }
  busy = false;
}
