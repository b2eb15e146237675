import { createClient, ErrorReply } from '@redis/client';
import { z } from 'zod';
import { pause } from '../lib/poll.ts';
import { ReplyLost, StoreUnavailable, type UnavailableReason } from './store.ts';

/** The time to connect, and for the next reply. */
const TIMEOUT_MS = 1000;

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

/** One connection, to one process of Redis. Every method throws `StoreUnavailable` or `ReplyLost`. */
export class RedisSession {
  readonly #client: ReturnType<typeof newClient>;
  readonly #end = Promise.withResolvers<StoreUnavailable>();
  /** Resolves when the connection has ended, with the reason. */
  readonly ended = this.#end.promise;
  #failure: StoreUnavailable | undefined;
  /** The commands without a reply. */
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(url: string) {
    this.#client = newClient(url);
    const onEnd = (cause?: unknown) => this.close(causeOf(cause));
    this.#client.once('end', onEnd).once('terminated', onEnd);
    this.#client.on('error', () => {}); // `terminated` follows, or a rejected `connect`.
  }

  async connect(): Promise<void> {
    // The client's own timeout ends when the socket is open.
    const reply = await this.#within(2 * TIMEOUT_MS, () => this.#client.connect());
    if (reply instanceof ErrorReply) throw failureOf(reply);
  }

  /** Runs a Lua script. */
  run(script: string, keys: string[], args: string[]): Promise<unknown> {
    return this.command(['EVAL', script, String(keys.length), ...keys, ...args]);
  }

  /** Sends a command once. */
  async command(command: string[]): Promise<unknown> {
    if (this.#failure) throw this.#failure;
    const reply = await this.#within(TIMEOUT_MS, () => this.#client.sendCommand(command));
    if (!(reply instanceof ErrorReply)) return reply;
    const failure = failureOf(reply);
    if (connectionReasons.has(failure.reason)) this.close(failure);
    throw failure;
  }

  /** Ends the connection at once. Commands without a reply fail with `ReplyLost`. */
  close(failure = new StoreUnavailable('closed')): void {
    if (this.#failure !== undefined) return;
    this.#failure = failure;
    this.#end.resolve(failure);
    if (this.#client.isOpen) this.#client.destroy();
  }

  /**
   * Waits for a reply. If none to any command arrives for so long, the connection is closed: no later command would get
   * its reply sooner. What has arrived while the process was busy is read before.
   */
  async #within(ms: number, send: () => Promise<unknown>): Promise<unknown> {
    this.#waiting += 1;
    if (this.#waiting === 1) this.#expectReply(ms);
    try {
      return await send();
    } catch (error) {
      if (error instanceof ErrorReply) return error;
      this.close(causeOf(error));
      throw new ReplyLost(this.#failure?.reason ?? 'unreachable');
    } finally {
      this.#waiting -= 1;
      this.#expectReply(TIMEOUT_MS);
    }
  }

  #expectReply(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#waiting === 0) return;
    const timer = setTimeout(() => {
      setImmediate(() => this.#timer === timer && this.close(new StoreUnavailable('timeout')));
    }, ms);
    this.#timer = timer;
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

/** Why a connection ended. The message of an error of the network may hold the address. */
function causeOf(cause: unknown): StoreUnavailable {
  if (cause instanceof ErrorReply) return failureOf(cause);
  const { data } = z.object({ code: z.string() }).safeParse(cause);
  return new StoreUnavailable(
    'unreachable',
    `No connection to Redis${data ? `: ${data.code}` : ''}`,
  );
}

/** An error of a script has its code inside the message, in some versions of Redis. */
function failureOf({ message }: ErrorReply): StoreUnavailable {
  const code = message.match(/[A-Z]+/g)?.find((word) => word in replyReasons);
  return new StoreUnavailable((code !== undefined && replyReasons[code]) || 'failed');
}

/**
 * Keeps one connection until `signal` is aborted, and makes a new one whenever it ends.
 *
 * @param onConnect checks a new connection before anything else uses it
 * @param onEnd learns why there is no connection
 */
export async function keepConnected(
  url: string,
  signal: AbortSignal,
  onConnect: (session: RedisSession) => Promise<void>,
  onEnd: (failure: StoreUnavailable) => void,
): Promise<void> {
  for (let ms = 50; !signal.aborted; ms = Math.min(ms * 2, 2000)) {
    const session = new RedisSession(url);
    try {
      await session.connect();
      await onConnect(session);
      ms = 50;
      if (signal.aborted) session.close();
      await session.ended;
    } catch (error) {
      session.close(error instanceof StoreUnavailable ? error : new StoreUnavailable('failed'));
    }
    const { reason, message } = await session.ended;
    onEnd(new StoreUnavailable(reason, message));
    await pause(ms, signal);
  }
}
