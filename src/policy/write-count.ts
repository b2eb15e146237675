import type { Logger } from 'pino';
import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { counterOptions } from '../idempotency/counter-options.ts';
import { createLineLimit } from '../telemetry/line-limit.ts';

export type CreateCounter = () => Promise<RateLimiterAbstract>;

/** The package takes memory and time to load, so only a policy with a limit loads it. */
async function createOwn(): Promise<RateLimiterAbstract> {
  const { RateLimiterMemory } = await import('rate-limiter-flexible');
  return new RateLimiterMemory(counterOptions);
}

/**
 * Counts the writes of callers, in the store of idempotency keys if that is shared by processes. While that fails, this
 * process counts by itself: a write neither fails because of it, nor is it without a limit.
 */
export class WriteCount {
  #own: Promise<RateLimiterAbstract> | undefined;
  readonly #log: Pick<Logger, 'warn'>;
  readonly #mayLog = createLineLimit(1, 60_000);
  #createShared: CreateCounter | undefined;
  #shared: Promise<RateLimiterAbstract> | undefined;

  constructor(log: Pick<Logger, 'warn'>) {
    this.#log = log;
  }

  /** Counts in a store from now on. */
  countIn(create: CreateCounter | undefined): void {
    this.#createShared = create;
  }

  /** Counts a write. Resolves to the writes since the minute of the key began, and when that ends, in milliseconds. */
  async count(key: string): Promise<{ writes: number; endsInMs: number }> {
    const create = this.#createShared;
    const counted = await (create ? this.#countShared(key, create) : this.#countOwn(key));
    return { writes: counted.consumedPoints, endsInMs: counted.msBeforeNext };
  }

  async #countOwn(key: string): Promise<RateLimiterRes> {
    this.#own ??= createOwn();
    return (await this.#own).consume(key);
  }

  async #countShared(key: string, create: CreateCounter): Promise<RateLimiterRes> {
    try {
      this.#shared ??= create();
      return await (await this.#shared).consume(key);
    } catch (error) {
      const { reason, message: fault }: { reason?: unknown; message?: unknown } = Object(error);
      const message =
        'cannot count writes in the store of idempotency keys: this process counts by itself';
      if (this.#mayLog()) this.#log.warn({ reason, fault }, message);
      return this.#countOwn(key);
    }
  }
}
