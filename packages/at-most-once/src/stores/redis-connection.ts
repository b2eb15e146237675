import { hash } from 'node:crypto';
import { createClient, ErrorReply } from '@redis/client';
import { z } from 'zod';
import { ReplyLost, StoreUnavailable, type UnavailableReason } from '../store.ts';
import { withoutValues } from './reported-error.ts';

/** The time to connect, and for the next reply. */
const TIMEOUT_MS = 1000;

const RIGHTS =
  'docs/explanation/stores.md has the command that gives a user its rights (ACL SETUSER)';
export const USE_PRIMARY = 'Use the address of the primary, which must follow it after a failover';
export const IN_CLUSTER =
  'is a node of a Redis Cluster, which is not supported. Use a server that is not in a cluster';

/** `$1` in a meaning is the first group of the text. */
type Reply = [text: RegExp, reason: UnavailableReason, meaning?: string];

/** What error replies mean. In some versions of Redis, an error of a script has its code inside the message. */
const replies: readonly Reply[] = [
  [/\bOOM\b/, 'full'],
  [/\bMISCONF\b/, 'not_writable'],
  [/\bNOREPLICAS\b/, 'not_replicated'],
  [/\b(READONLY|MASTERDOWN)\b/, 'read_only', `is a replica. ${USE_PRIMARY}`],
  [/\bLOADING\b/, 'loading'],
  [/\bWRONGTYPE\b/, 'corrupt'],
  [/\bNOPERM\b.* '(\w+)' command/, 'unauthorized', `denies its user the command $1. ${RIGHTS}`],
  [/\bNOPERM\b.*\bkey/, 'unauthorized', `denies its user a key. ${RIGHTS}`],
  [
    /\bNOPERM\b|ACL failure|can't run this command/,
    'unauthorized',
    `denies its user a command. ${RIGHTS}`,
  ],
  [/\b(NOAUTH|WRONGPASS|AUTH)\b/, 'unauthorized', 'rejects the user or the password'],
  [
    /\b(MOVED|ASK|TRYAGAIN|CLUSTERDOWN|CROSSSLOT)\b|SELECT is not allowed/,
    'unsupported',
    IN_CLUSTER,
  ],
  [
    /unknown (redis )?command/i,
    'unsupported',
    'does not execute a command that the gateway needs. The address must lead to a Redis or Valkey server that executes scripts (EVAL), and not to a Sentinel',
  ],
  [/DB index is out of range/, 'no_database', 'has no database with the number in the URL'],
];

/** A script, and the hash by which a server that has executed it knows it. */
export type Script = { text: string; sha: string };

export const scriptOf = (text: string): Script => ({ text, sha: hash('sha1', text) });

/** Failures that a new connection may not have: to a new primary, or after the data is loaded. */
const connectionReasons = new Set<UnavailableReason>([
  'loading',
  'read_only',
  'unauthorized',
  'unsupported',
]);

/** One connection, to one process of Redis. Its commands throw `StoreUnavailable` or `ReplyLost`. */
export class RedisSession {
  readonly #client: ReturnType<typeof newClient>;
  readonly #end = Promise.withResolvers<StoreUnavailable>();
  /** Resolves when the connection has ended, with the reason. */
  readonly ended = this.#end.promise;
  /** Why the connection has ended. */
  failure: StoreUnavailable | undefined;
  /** What to do if the connection ends before a reply. */
  #hint: string;
  /** The commands without a reply. */
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @throws Error if the URL cannot be used */
  constructor(url: string) {
    this.#client = newClient(url);
    const [scheme, other, has] = /^rediss:/i.test(url)
      ? ['rediss', 'redis', 'has no']
      : ['redis', 'rediss', 'has'];
    this.#hint = `. If the port ${has} TLS, write ${other}:// instead of ${scheme}://`;
    const onEnd = (cause?: unknown) => this.close(failureOf(cause, this.#hint));
    this.#client.once('end', onEnd).once('terminated', onEnd);
    this.#client.on('error', () => {}); // `terminated` follows, or a rejected `connect`.
  }

  async connect(): Promise<void> {
    // The client's own timeout ends when the socket is open.
    await this.#within(2 * TIMEOUT_MS, () => this.#client.connect());
    this.#hint = '';
  }

  /** Sends a command once. */
  command(command: string[]): Promise<unknown> {
    return this.#within(TIMEOUT_MS, () => this.#client.sendCommand(command));
  }

  /** Executes a script once. Its text, which takes much of the CPU time, is sent only if its hash is rejected. */
  script({ text, sha }: Script, args: string[]): Promise<unknown> {
    const evaluate = () =>
      this.#client.sendCommand(['EVALSHA', sha, ...args]).catch((error: unknown) => {
        // The server does not know the script, or its user or a proxy does not permit the command, which is then in quotes:
        // nothing was executed.
        const isRejected =
          error instanceof ErrorReply && /^NOSCRIPT\b|['`]evalsha['`]/i.test(error.message);
        if (!isRejected) throw error;
        this.#expectReply(TIMEOUT_MS);
        return this.#client.sendCommand(['EVAL', text, ...args]);
      });
    return this.#within(TIMEOUT_MS, evaluate);
  }

  /** Ends the connection at once. Commands without a reply fail with `ReplyLost`. */
  close(failure = new StoreUnavailable('closed')): void {
    this.failure ??= failure;
    this.#end.resolve(this.failure);
    if (this.#client.isOpen) this.#client.destroy();
  }

  /**
   * Waits for a reply. If no reply to any command arrives in this time, the connection is closed, because no later command
   * would get its reply sooner. Replies that arrived while the process was busy are read first.
   */
  async #within(ms: number, send: () => Promise<unknown>): Promise<unknown> {
    if (this.failure) throw this.failure;
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

/** Duplicates share its class, whose many methods take a while to create. */
const anyClient = createClient({
  disableOfflineQueue: true,
  // The oldest protocol is all that scripts need, and every Redis, Valkey and proxy speaks it.
  RESP: 2,
  maintNotifications: 'disabled',
  commandOptions: { timeout: 0 },
});

/** A client that makes one connection and queues nothing without it. @throws Error if the URL cannot be used */
function newClient(url: string) {
  try {
    // The client writes the address into `socket`, so each one needs its own.
    return anyClient.duplicate({
      url,
      socket: { connectTimeout: TIMEOUT_MS, reconnectStrategy: false },
    });
  } catch {
    // The original error holds the URL, and so the password.
    throw new Error('The URL of the idempotency store is not a valid redis:// or rediss:// URL');
  }
}

/**
 * Why a command failed, or a connection ended. The message of an error of the network may hold the address, and that of a reply
 * may hold values.
 *
 * @param hint what to do if the server did not understand the first bytes
 */
function failureOf(error: unknown, hint = ''): StoreUnavailable {
  if (error instanceof ErrorReply) {
    const words = `reports an error: ${withoutValues(error.message)}`;
    const other: Reply = [/./, 'failed'];
    const [text, reason, meaning = words] =
      replies.find(([text]) => text.test(error.message)) ?? other;
    const group = text.exec(error.message)?.[1] ?? '';
    return new StoreUnavailable(reason, `The Redis server ${meaning.replace('$1', group)}`);
  }
  const code = z.object({ code: z.string() }).safeParse(error).data?.code;
  const isAboutFirstBytes = code === undefined || /^(ECONNRESET|EPROTO|ERR_SSL_.*)$/.test(code);
  const more = isAboutFirstBytes ? hint : '';
  const message = `No connection to Redis${code ? `: ${code}` : ''}${more}`;
  return new StoreUnavailable('unreachable', message, code);
}
