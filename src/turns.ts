import { setImmediate as immediate } from 'node:timers/promises';

/** How often the event loop goes round in a pause, so that others have all of their turns. */
const ROUNDS = 3;

/** What is larger than this, in bytes or characters, is long work. */
export const LONG = 500_000;

let last: Promise<unknown> = Promise.resolve();

/**
 * Does long work when its turn has come. What takes tens of milliseconds, such as parsing a list of 50,000
 * or writing it, is done one at a time, after a pause; and whatever can be done in pieces pauses between.
 */
export function inTurn<Result>(work: () => Promise<Result> | Result): Promise<Result> {
  const done = last.then(pause).then(work);
  last = done.catch(() => {});
  return done;
}

/** Lets everything else have its turns of the event loop. */
export async function pause(): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) await immediate();
}
