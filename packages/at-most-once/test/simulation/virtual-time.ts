import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';

type Event = { at: number; run: () => void };

/**
 * The clock and the timers of a process, in which an hour passes as fast as its events are processed. What happens at the
 * same time happens in the order in which it was planned.
 */
class VirtualTime {
  now = 0;
  /** In the order in which they happen. */
  #events: Event[] = [];

  /** Forgets all events, and begins again. */
  reset(): void {
    this.now = 0;
    this.#events = [];
  }

  after(ms: number, run: () => void): Event {
    const at = this.now + Math.max(0, ms);
    const event = { at, run };
    this.#events.splice(this.#events.findLastIndex((one) => one.at <= at) + 1, 0, event);
    return event;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.after(ms, resolve);
    });
  }

  /** Time in which the process does nothing: what was planned for it happens afterwards. */
  skip(ms: number): void {
    this.now += ms;
  }

  /** Lets time pass until a promise resolves. Throws if nothing is planned any more. */
  async runUntil<Result>(promise: Promise<Result>): Promise<Result> {
    let isDone = false;
    const done = promise.finally(() => {
      isDone = true;
    });
    done.catch(() => {});
    for (;;) {
      // All that follows from the last event takes place before the next one: a tick runs when no promise is left.
      await new Promise(process.nextTick);
      if (isDone) return done;
      const event = this.#events.shift();
      if (event === undefined) throw new Error('Something waits for ever');
      this.now = Math.max(this.now, event.at);
      event.run();
    }
  }
}

export const time = new VirtualTime();

const noop = () => {};

/** What a timer function returns, as far as the gateway uses it. */
function start(event: Event) {
  const timer = { event, unref: () => timer, ref: () => timer };
  return timer;
}

/** Replaces the clock and the timers of this process for good. */
export function install(): void {
  const repeat = (run: () => void, ms: number) => {
    const timer = start(time.after(ms, next));
    function next() {
      run();
      if (timer.event.run !== noop) timer.event = time.after(ms, next);
    }
    return timer;
  };
  const clear = (timer?: { event: Event }) => {
    if (timer) timer.event.run = noop;
  };
  const replacements = {
    setTimeout: (run: () => void, ms = 0) => start(time.after(ms, run)),
    setImmediate: (run: () => void) => start(time.after(0, run)),
    setInterval: repeat,
    clearTimeout: clear,
    clearInterval: clear,
    clearImmediate: clear,
  };
  for (const [name, value] of Object.entries(replacements)) Reflect.set(globalThis, name, value);
  Reflect.set(performance, 'now', () => time.now);
  Reflect.set(Date, 'now', () => time.now);
  Reflect.set(timers, 'setTimeout', (ms: number) => time.sleep(ms));
  syncBuiltinESMExports();
}
