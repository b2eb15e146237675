import { createClient, ErrorReply } from '@redis/client';
import { z } from 'zod';
import { ReplyLost, StoreUnavailable, type UnavailableReason } from '../store.ts';

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

/** One connection, to one process of Redis. Its commands throw `StoreUnavailable` or `ReplyLost`. */
export class RedisSession {
  readonly #client: ReturnType<typeof newClient>;
  readonly #end = Promise.withResolvers<StoreUnavailable>();
  /** Resolves when the connection has ended, with the reason. */
  readonly ended = this.#end.promise;
  #failure: StoreUnavailable | undefined;
  /** The commands without a reply. */
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @throws Error if the URL cannot be used */
  constructor(url: string) {
    this.#client = newClient(url);
    const onEnd = (cause?: unknown) => this.close(failureOf(cause));
    this.#client.once('end', onEnd).once('terminated', onEnd);
    this.#client.on('error', () => {}); // `terminated` follows, or a rejected `connect`.
  }

  async connect(): Promise<void> {
    // The client's own timeout ends when the socket is open.
    await this.#within(2 * TIMEOUT_MS, () => this.#client.connect());
  }

  /** Sends a command once. */
  command(command: string[]): Promise<unknown> {
    return this.#within(TIMEOUT_MS, () => this.#client.sendCommand(command));
  }

  /** Ends the connection at once. Commands without a reply fail with `ReplyLost`. */
  close(failure = new StoreUnavailable('closed')): void {
    this.#failure ??= failure;
    this.#end.resolve(this.#failure);
    if (this.#client.isOpen) this.#client.destroy();
  }

  /**
   * Waits for a reply. If no reply to any command arrives in this time, the connection is closed, because no later command
   * would get its reply sooner. Replies that arrived while the process was busy are read first.
   */
  async #within(ms: number, send: () => Promise<unknown>): Promise<unknown> {
    if (this.#failure) throw this.#failure;
    this.#waiting += 1;
    if (this.#waiting === 1) this.#expectReply(ms);
    try {
      return await send();
    } catch (error) {
      const failure = failureOf(error);
      const isReply = error instanceof ErrorReply;
      if (!isReply || connectionReasons.has(failure.reason)) this.close(failure);
      throw isReply ? failure : new ReplyLost((await this.ended).reason);
    } finally {
      this.#waiting -= 1;
      this.#expectReply(TIMEOUT_MS);
    }
  }

  #expectReply(ms: number): void {
    clearTimeout(this.#timer);
    const isLate = () => this.#timer === timer;
    const end = () => isLate() && this.close(new StoreUnavailable('timeout'));
    const timer = this.#waiting > 0 ? setTimeout(() => setImmediate(end), ms) : undefined;
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

/** Why a command failed, or a connection ended. The message of an error of the network may hold the address. */
function failureOf(error: unknown): StoreUnavailable {
  if (error instanceof ErrorReply) {
    // An error of a script has its code inside the message, in some versions of Redis.
    const code = error.message.match(/[A-Z]+/g)?.find((word) => word in replyReasons);
    return new StoreUnavailable((code !== undefined && replyReasons[code]) || 'failed');
  }
  const code = z.object({ code: z.string() }).safeParse(error).data?.code;
  const message = `No connection to Redis${code === undefined ? '' : `: ${code}`}`;
  return new StoreUnavailable('unreachable', message);
}
