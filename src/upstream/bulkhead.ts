import { refused } from './errors.ts';

/** Calls that may wait for a place: reads give up earlier, so that writes find one. */
const MAX_QUEUED = { read: 100, write: 200 };

type Effect = keyof typeof MAX_QUEUED;

/**
 * Bounds the calls in flight. Whoever finds no place waits in a short line, writes before reads; when
 * the line is full, or the signal ends, the call is refused and surely was not sent. That certainty is
 * why this is not a library's queue: theirs let the signal overtake a task that already runs.
 */
export class Bulkhead {
  readonly #limit: number;
  readonly #waiting: Record<Effect, (() => void)[]> = { write: [], read: [] };
  #inFlight = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  get queued(): number {
    return this.#waiting.write.length + this.#waiting.read.length;
  }

  /** Runs a call in its turn. Throws an UpstreamError of effect `none` where it gets none. */
  async run<Answer>(
    effect: Effect,
    signal: AbortSignal,
    call: () => Promise<Answer>,
  ): Promise<Answer> {
    if (signal.aborted) throw refused('ended before its turn');
    if (this.#inFlight < this.#limit) this.#inFlight += 1;
    else await this.#turn(effect, signal);
    try {
      return await call();
    } finally {
      this.#handOn();
    }
  }

  /** Waits in line; resolves when a place was handed over. */
  #turn(effect: Effect, signal: AbortSignal): Promise<void> {
    if (this.queued >= MAX_QUEUED[effect]) throw refused('too many calls waiting');
    const line = this.#waiting[effect];
    return new Promise((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        line.splice(line.indexOf(enter), 1);
        reject(refused('ended before its turn'));
      };
      line.push(enter);
      signal.addEventListener('abort', leave, { once: true });
    });
  }

  /** Hands a place to the next in line, or frees it. */
  #handOn(): void {
    const enter = this.#waiting.write.shift() ?? this.#waiting.read.shift();
    if (enter) enter();
    else this.#inFlight -= 1;
  }
}
