import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { createLineLimit } from '../telemetry/line-limit.ts';
import { counterOptions, type SharedCounter, TIMEOUT_MS } from './shared-count.ts';

/** The package takes memory and time to load, so only a policy with a limit loads it. */
async function createOwn(): Promise<RateLimiterAbstract> {
  const { RateLimiterMemory } = await import('rate-limiter-flexible');
  return new RateLimiterMemory(counterOptions);
}

/** Counts the writes of callers, for all processes that share a server. While that fails, this process counts by itself. */
export class WriteCount {
  readonly #log: Pick<Logger, 'warn'>;
  readonly #mayLog = createLineLimit(1, 60_000);
  readonly #connect: (() => Promise<SharedCounter>) | undefined;
  #own: Promise<RateLimiterAbstract> | undefined;
  #shared: Promise<SharedCounter> | undefined;

  /** @param connect connects to the server that processes share. It is called at the first count. */
  constructor(log: Pick<Logger, 'warn'>, connect?: () => Promise<SharedCounter>) {
    this.#log = log;
    this.#connect = connect;
  }

  /** Counts a write. Resolves to the writes since the minute of the key began, and when that ends, in milliseconds. */
  async count(key: string): Promise<{ writes: number; endsInMs: number }> {
    const counted = await (this.#connect
      ? this.#countShared(key, this.#connect)
      : this.#countOwn(key));
    return { writes: counted.consumedPoints, endsInMs: counted.msBeforeNext };
  }

  async close(): Promise<void> {
    const closed = this.#shared?.then(
      (counter) => counter.close(),
      () => {},
    );
    await Promise.race([closed, late()]); // A server that hangs does not delay the end.
  }

  async #countOwn(key: string): Promise<RateLimiterRes> {
    this.#own ??= createOwn();
    return (await this.#own).consume(key);
  }

  async #countShared(key: string, connect: () => Promise<SharedCounter>): Promise<RateLimiterRes> {
    try {
      this.#shared ??= connect();
      const counting = this.#shared.then(({ limiter }) => limiter.consume(key));
      const counted = await Promise.race([counting, late()]);
      if (counted === null) throw new Error('timeout');
      return counted;
    } catch (error) {
      const { code, message }: { code?: unknown; message?: unknown } = Object(error);
      const line =
        'cannot count writes in the store of idempotency keys: this process counts by itself';
      // The message of an error of the network may hold the address.
      if (this.#mayLog()) this.#log.warn({ fault: code ?? message }, line);
      return this.#countOwn(key);
    }
  }
}

/** Resolves when a use of the server is late. */
const late = () => sleep(TIMEOUT_MS, null, { ref: false });
