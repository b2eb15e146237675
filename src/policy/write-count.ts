import type { Logger } from 'pino';
import { type RateLimiterAbstract, RateLimiterMemory } from 'rate-limiter-flexible';
import { counterOptions } from '../idempotency/counter-options.ts';
import { createLineLimit } from '../telemetry/line-limit.ts';

/**
 * Counts the writes of callers, in the store of idempotency keys if that is shared by processes. While that fails, this
 * process counts by itself: a write neither fails because of it, nor is it without a limit.
 */
export class WriteCount {
  readonly #own = new RateLimiterMemory(counterOptions);
  readonly #log: Pick<Logger, 'warn'>;
  readonly #mayLog = createLineLimit(1, 60_000);
  #shared: RateLimiterAbstract | undefined;

  constructor(log: Pick<Logger, 'warn'>) {
    this.#log = log;
  }

  /** Counts in a store from now on. */
  countIn(shared: RateLimiterAbstract | undefined): void {
    this.#shared = shared;
  }

  /** Counts a write. Resolves to the writes since the minute of the key began, and when that ends, in milliseconds. */
  async count(key: string): Promise<{ writes: number; endsInMs: number }> {
    const counted = await (this.#shared ?? this.#own).consume(key).catch((error: unknown) => {
      const { reason, message: fault }: { reason?: unknown; message?: unknown } = Object(error);
      const message =
        'cannot count writes in the store of idempotency keys: this process counts by itself';
      if (this.#mayLog()) this.#log.warn({ reason, fault }, message);
      return this.#own.consume(key);
    });
    return { writes: counted.consumedPoints, endsInMs: counted.msBeforeNext };
  }
}
