import { Backoff } from './backoff.ts';
import type { Script } from './redis-scripts.ts';
import { newClient, RedisSession } from './redis-session.ts';
import { type StoreLog, StoreUnavailable, type UnavailableReason } from './store.ts';

const LOG_INTERVAL_MS = 60_000;
/** An idle process notices within about this time that a connection is dead, or leads to another server. */
const CHECK_INTERVAL_MS = 2000;
/** The time that other processes may need to connect again, and to write what they could not write before. */
const CATCH_UP_MS = 5000;

type RedisConnectionOptions = {
  url: string;
  log: StoreLog;
  /** Checks a new connection before anything else uses it, and then regularly. */
  check(session: RedisSession): Promise<void>;
};

/** Keeps one connection to Redis, and makes a new one in the background whenever it ends. */
export class RedisConnection {
  readonly #options: RedisConnectionOptions;
  readonly #closing = new AbortController();
  readonly #loop: Promise<void>;
  /** When each reason was last logged, in milliseconds of the monotonic clock. */
  readonly #loggedAt = new Map<UnavailableReason, number>();
  #isFailureLogged = false;
  #wasConnected = false;
  /** When a lost connection was last replaced, in milliseconds of the monotonic clock. */
  #reconnectedAt = -Infinity;
  readonly #backoff = new Backoff();
  #session: RedisSession | undefined;
  #reason: UnavailableReason = 'unreachable';

  /** @throws Error if the URL cannot be used */
  constructor(options: RedisConnectionOptions) {
    newClient(options.url).destroy();
    this.#options = options;
    this.#loop = this.#keepConnected();
  }

  /**
   * Runs a script on the current connection; without one, fails at once.
   *
   * @throws ReplyLost, StoreUnavailable
   */
  async run(script: Script, keys: string[], args: string[]): Promise<unknown> {
    if (this.#closing.signal.aborted) throw new StoreUnavailable('closed');
    if (this.#session === undefined) throw new StoreUnavailable(this.#reason);
    try {
      return await this.#session.run(script, keys, args);
    } catch (error) {
      if (error instanceof StoreUnavailable) this.report(error);
      throw error;
    }
  }

  /** Whether other processes may still have outcomes to write, after an outage that this process noticed. */
  get isCatchingUp(): boolean {
    return performance.now() - this.#reconnectedAt < CATCH_UP_MS;
  }

  /** Logs why the store cannot be used: each reason at most once a minute. */
  report({ reason, message }: StoreUnavailable): void {
    const now = performance.now();
    if (now - (this.#loggedAt.get(reason) ?? -Infinity) < LOG_INTERVAL_MS) return;
    this.#loggedAt.set(reason, now);
    this.#isFailureLogged = true;
    this.#options.log.error({ reason }, message);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#session?.close();
    await this.#loop;
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const failure = await this.#useOneSession();
      this.#session = undefined;
      this.#reason = failure.reason;
      if (signal.aborted) return;
      this.report(failure);
      await this.#backoff.pause(signal);
    }
  }

  /** Connects and waits for the end of the connection. Resolves with the reason of the end. */
  async #useOneSession(): Promise<StoreUnavailable> {
    let session: RedisSession | undefined;
    let timer: NodeJS.Timeout | undefined;
    try {
      session = await RedisSession.open(this.#options.url);
      await this.#options.check(session);
      if (this.#closing.signal.aborted) return new StoreUnavailable('closed');
      this.#session = session;
      if (this.#wasConnected) this.#reconnectedAt = performance.now();
      this.#wasConnected = true;
      this.#backoff.reset();
      if (this.#isFailureLogged) this.#options.log.warn({}, 'Connected to Redis again');
      this.#isFailureLogged = false;
      timer = setInterval(this.#checkAgain, CHECK_INTERVAL_MS, session).unref();
      return new StoreUnavailable(await session.ended);
    } catch (error) {
      return error instanceof StoreUnavailable ? error : new StoreUnavailable('failed');
    } finally {
      clearInterval(timer);
      session?.close();
    }
  }

  readonly #checkAgain = async (session: RedisSession): Promise<void> => {
    try {
      await this.#options.check(session);
    } catch (error) {
      const failure = error instanceof StoreUnavailable ? error : new StoreUnavailable('failed');
      if (!this.#closing.signal.aborted) this.report(failure);
      session.close(failure.reason);
    }
  };
}
