import { createClient, ErrorReply } from '@redis/client';
import { z } from 'zod';
import type { Script } from './redis-scripts.ts';
import { StoreUnavailable, type UnavailableReason } from './store.ts';

const CONNECT_TIMEOUT_MS = 1000;
const COMMAND_TIMEOUT_MS = 1000;

/** The reply did not arrive: Redis may have executed the command, or may still execute it. */
export class ReplyLost extends StoreUnavailable {
  override readonly name = 'ReplyLost';
}

const replyReasons: Record<string, UnavailableReason> = {
  OOM: 'out_of_memory',
  MISCONF: 'not_writable',
  NOREPLICAS: 'not_writable',
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

type Client = ReturnType<typeof newClient>;

/**
 * One connection to Redis. A command is sent at most once and takes a bounded time; one that takes longer
 * closes the connection, since no later command would get its reply sooner.
 */
export class RedisSession {
  readonly #client: Client;
  readonly #end = Promise.withResolvers<UnavailableReason>();
  #endedBy: UnavailableReason | undefined;

  /** @throws StoreUnavailable */
  static async open(url: string): Promise<RedisSession> {
    const client = newClient(url);
    const session = new RedisSession(client);
    let timer: NodeJS.Timeout | undefined;
    // The client itself bounds the time before this event.
    client.once('connect', () => {
      timer = setTimeout(() => session.close('timeout'), CONNECT_TIMEOUT_MS);
    });
    try {
      await client.connect();
      return session;
    } catch (error) {
      session.close();
      if (error instanceof ErrorReply) throw new StoreUnavailable(reasonOfReply(error));
      if (session.#endedBy === 'timeout') throw new StoreUnavailable('timeout');
      throw new StoreUnavailable('unreachable', messageOf(error));
    } finally {
      clearTimeout(timer);
    }
  }

  private constructor(client: Client) {
    this.#client = client;
    const onEnd = () => this.#setEnd('unreachable');
    client.once('end', onEnd).once('terminated', onEnd);
    client.on('error', () => {}); // `terminated` follows, or a rejected `connect`.
  }

  /** Resolves when the connection has ended, with the reason. */
  get ended(): Promise<UnavailableReason> {
    return this.#end.promise;
  }

  /** @throws ReplyLost, StoreUnavailable */
  async run({ source, sha }: Script, keys: string[], args: string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    try {
      return await this.#send(['EVALSHA', sha, ...rest]);
    } catch (error) {
      if (!(error instanceof ErrorReply)) throw error;
      if (!error.message.startsWith('NOSCRIPT')) throw this.#failed(error);
    }
    return this.command(['EVAL', source, ...rest]);
  }

  /** @throws ReplyLost, StoreUnavailable */
  async command(command: string[]): Promise<unknown> {
    try {
      return await this.#send(command);
    } catch (error) {
      throw error instanceof ErrorReply ? this.#failed(error) : error;
    }
  }

  /** Ends the connection at once. Commands without a reply fail with `ReplyLost`. */
  close(reason: UnavailableReason = 'closed'): void {
    this.#setEnd(reason);
    this.#client.destroy();
  }

  /** @throws StoreUnavailable if nothing was sent, ReplyLost, ErrorReply */
  async #send(command: string[]): Promise<unknown> {
    if (this.#endedBy !== undefined) throw new StoreUnavailable(this.#endedBy);
    const timer = setTimeout(() => this.close('timeout'), COMMAND_TIMEOUT_MS);
    try {
      return await this.#client.sendCommand<unknown>(command);
    } catch (error) {
      if (error instanceof ErrorReply) throw error;
      throw new ReplyLost(this.#endedBy ?? 'unreachable');
    } finally {
      clearTimeout(timer);
    }
  }

  #setEnd(reason: UnavailableReason): void {
    this.#endedBy ??= reason;
    this.#end.resolve(this.#endedBy);
  }

  #failed(error: ErrorReply): StoreUnavailable {
    const reason = reasonOfReply(error);
    if (connectionReasons.has(reason)) this.close(reason);
    return new StoreUnavailable(reason);
  }
}

/**
 * A client that makes one connection and queues nothing without it.
 *
 * @throws Error if the URL cannot be used
 */
export function newClient(url: string) {
  try {
    return createClient({
      url,
      socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: false },
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
function reasonOfReply({ message }: ErrorReply): UnavailableReason {
  const code = message.match(/[A-Z]+/g)?.find((word) => word in replyReasons);
  return (code !== undefined && replyReasons[code]) || 'failed';
}

/** Names a connection failure by its code: its message may hold the address. */
function messageOf(error: unknown): string {
  const { data } = z.object({ code: z.string() }).safeParse(error);
  return `No connection to Redis${data ? `: ${data.code}` : ''}`;
}
