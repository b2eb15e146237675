import { hash } from 'node:crypto';
import { createClient, ErrorReply } from '@redis/client';
import { z } from 'zod';
import { pause } from './open-writes.ts';
import { ReplyLost, StoreUnavailable, type UnavailableReason } from './store.ts';

/** The time to connect, and for each command. */
const TIMEOUT_MS = 1000;
const PAUSE_MS = { first: 50, last: 2000 };

const replyReasons: Record<string, UnavailableReason> = {
  OOM: 'full',
  MISCONF: 'not_writable',
  NOREPLICAS: 'not_replicated',
  READONLY: 'read_only',
  MASTERDOWN: 'read_only',
  LOADING: 'loading',
  WRONGTYPE: 'corrupt',
  NOAUTH: 'unauthorized',
  WRONGPASS: 'unauthorized',
  NOPERM: 'unauthorized',
  AUTH: 'unauthorized', // ERR AUTH … called without any password configured
};

/** Failures that a new connection may not have: to a new primary, or after the data is loaded. */
const connectionReasons = new Set<UnavailableReason>(['loading', 'read_only', 'unauthorized']);

/** A Lua script, with the hash by which Redis knows it. */
export type Script = { source: string; sha: string };

export function script(source: string): Script {
  return { source, sha: hash('sha1', source, 'hex') };
}

/** One connection, to one process of Redis. */
export class RedisSession {
  readonly #client: ReturnType<typeof newClient>;
  readonly #end = Promise.withResolvers<StoreUnavailable>();
  #failure: StoreUnavailable | undefined;

  /** @throws StoreUnavailable */
  static async open(url: string): Promise<RedisSession> {
    const session = new RedisSession(url);
    // The client's own timeout ends when the socket is open.
    const timer = setTimeout(() => session.close(new StoreUnavailable('timeout')), 2 * TIMEOUT_MS);
    try {
      await session.#client.connect();
      return session;
    } catch (error) {
      if (error instanceof ErrorReply) throw failureOf(error);
      if (session.#endReason() === 'timeout') throw new StoreUnavailable('timeout');
      // The message may hold the address.
      const { data } = z.object({ code: z.string() }).safeParse(error);
      const message = `No connection to Redis${data ? `: ${data.code}` : ''}`;
      throw new StoreUnavailable('unreachable', message);
    } finally {
      clearTimeout(timer);
      if (!session.#client.isReady) session.close();
    }
  }

  private constructor(url: string) {
    this.#client = newClient(url);
    const onEnd = () => this.close(new StoreUnavailable('unreachable'));
    this.#client.once('end', onEnd).once('terminated', onEnd);
    this.#client.on('error', () => {}); // `terminated` follows, or a rejected `connect`.
  }

  /** Resolves when the connection has ended, with the reason. */
  get ended(): Promise<StoreUnavailable> {
    return this.#end.promise;
  }

  /** @throws ReplyLost, StoreUnavailable */
  async run({ source, sha }: Script, keys: string[], args: string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    const reply = await this.#send(['EVALSHA', sha, ...rest]);
    if (!(reply instanceof ErrorReply)) return reply;
    if (!reply.message.startsWith('NOSCRIPT')) throw this.#failed(reply);
    return this.command(['EVAL', source, ...rest]);
  }

  /** @throws ReplyLost, StoreUnavailable */
  async command(command: string[]): Promise<unknown> {
    const reply = await this.#send(command);
    if (reply instanceof ErrorReply) throw this.#failed(reply);
    return reply;
  }

  /** Ends the connection at once. Commands without a reply fail with `ReplyLost`. */
  close(failure = new StoreUnavailable('closed')): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure;
    this.#end.resolve(this.#failure);
    if (this.#client.isOpen) this.#client.destroy();
  }

  /** Sends a command once. One without a reply closes the connection: no later one would get its reply sooner. */
  async #send(command: string[]): Promise<unknown> {
    if (this.#failure !== undefined) throw this.#failure;
    const timer = setTimeout(() => this.close(new StoreUnavailable('timeout')), TIMEOUT_MS);
    try {
      return await this.#client.sendCommand<unknown>(command);
    } catch (error) {
      if (error instanceof ErrorReply) return error;
      throw new ReplyLost(this.#endReason());
    } finally {
      clearTimeout(timer);
    }
  }

  #endReason(): UnavailableReason {
    return this.#failure?.reason ?? 'unreachable';
  }

  #failed(error: ErrorReply): StoreUnavailable {
    const failure = failureOf(error);
    if (connectionReasons.has(failure.reason)) this.close(failure);
    return failure;
  }
}

/** Keeps one connection to Redis, and makes a new one in the background whenever it ends. */
export class RedisConnection {
  readonly #closing = new AbortController();
  readonly #loop: Promise<void>;
  readonly #url: string;
  readonly #prepare: (session: RedisSession) => Promise<void>;
  #session: RedisSession | undefined;
  #failure = new StoreUnavailable('connecting');

  /**
   * @param prepare checks a new connection before anything else uses it
   * @throws Error if the URL cannot be used
   */
  constructor(url: string, prepare: (session: RedisSession) => Promise<void>) {
    newClient(url).destroy();
    this.#url = url;
    this.#prepare = prepare;
    this.#loop = this.#keepConnected();
  }

  /** The current connection. @throws StoreUnavailable */
  get session(): RedisSession {
    if (this.#session === undefined) throw this.#failure;
    return this.#session;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#failure = new StoreUnavailable('closed');
    this.#session?.close();
    this.#session = undefined;
    await this.#loop;
  }

  async #keepConnected(): Promise<void> {
    const { signal } = this.#closing;
    for (let ms = PAUSE_MS.first; !signal.aborted; ms = Math.min(ms * 2, PAUSE_MS.last)) {
      let session: RedisSession | undefined;
      let failure = new StoreUnavailable('failed');
      try {
        session = await RedisSession.open(this.#url);
        await this.#prepare(session);
        if (signal.aborted) return;
        this.#session = session;
        ms = PAUSE_MS.first;
        failure = await session.ended;
      } catch (error) {
        if (error instanceof StoreUnavailable) failure = error;
      } finally {
        session?.close();
      }
      if (signal.aborted) return;
      this.#session = undefined;
      this.#failure = failure;
      await pause(ms, signal);
    }
  }
}

/** A client that makes one connection and queues nothing without it. @throws Error if the URL cannot be used */
function newClient(url: string) {
  try {
    return createClient({
      url,
      socket: { connectTimeout: TIMEOUT_MS, reconnectStrategy: false },
      disableOfflineQueue: true,
      // The oldest protocol is all that scripts need, and every Redis, Valkey and proxy speaks it.
      RESP: 2,
      maintNotifications: 'disabled',
      commandOptions: { timeout: 0 },
    });
  } catch {
    // The original error holds the URL, and so the password.
    throw new Error('The URL of the idempotency store is not a valid redis:// or rediss:// URL');
  }
}

/** An error of a script has its code inside the message, in some versions of Redis. */
function failureOf({ message }: ErrorReply): StoreUnavailable {
  const code = message.match(/[A-Z]+/g)?.find((word) => word in replyReasons);
  return new StoreUnavailable((code !== undefined && replyReasons[code]) || 'failed');
}
