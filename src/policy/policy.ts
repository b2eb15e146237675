import { isPromise } from 'node:util/types';
import type { Logger } from 'pino';
import type { RequestScope } from '../request-scope.ts';
import type { CallPolicy } from '../upstream/call.ts';
import type { Operation } from '../upstream/operations.ts';
import { UpstreamError } from '../upstream/upstream-error.ts';
import type { PolicyTable } from './policy-file.ts';
import { lackOf } from './token-claims.ts';
import { sharedCounterIn, WriteCount } from './write-count.ts';

/** Of all rejections. They are no calls of the service, so nothing was sent. */
const fault = 'policy';

type Subject = Pick<RequestScope, 'token' | 'caller'>;

/** Who may call which operation, which are stopped, and how many writes a caller may send (docs/reference/policy.md). */
export class Policy implements CallPolicy {
  readonly #count: WriteCount;
  #rules: PolicyTable['rules'];

  /** `store` is that of keys, where all processes that share it count writes. */
  constructor(table: PolicyTable, store: string, log: Pick<Logger, 'warn'>) {
    this.#rules = table.rules;
    this.#count = new WriteCount(log, sharedCounterIn(store));
  }

  /** Uses another table for everything that is not sent yet. */
  use(table: PolicyTable): void {
    this.#rules = table.rules;
  }

  close(): Promise<void> {
    return this.#count.close();
  }

  /**
   * Checks a call. Throws an UpstreamError: `FORBIDDEN`, or `OPERATION_STOPPED`. Returns a function that checks it again, to be
   * called right before it is sent: the policy may have changed while the call waited.
   */
  check(operation: Operation, subject: Subject): () => void {
    const rules = this.#rules;
    const rule = rules.get(operation);
    if (rule) {
      const { claims, stopped } = rule;
      const lack = lackOf(subject.token, claims);
      const message = `The policy requires that ${lack}. Nothing was sent.`;
      if (lack !== undefined) throw new UpstreamError('FORBIDDEN', { fault, message });
      if (stopped !== null) {
        throw new UpstreamError('OPERATION_STOPPED', { fault, message: stopped });
      }
    }
    return () => {
      if (this.#rules !== rules) this.check(operation, subject);
    };
  }

  /**
   * Counts a write that is about to be sent. Throws an UpstreamError, or rejects with it: `RATE_LIMITED`. Undefined if it is counted,
   * or there is no limit.
   */
  count(operation: Operation, { caller }: Subject): Promise<void> | undefined {
    const limit = this.#rules.get(operation)?.limit;
    if (!limit) return undefined;
    const { name, writesPerMinute } = limit;
    const check = ({ writes, endsInMs }: { writes: number; endsInMs: number }) => {
      if (writes <= writesPerMinute) return;
      const message = `At most ${writesPerMinute} writes a minute are allowed by the rule "${name}". Nothing was sent.`;
      throw new UpstreamError('RATE_LIMITED', { fault, message, retryAfterMs: endsInMs });
    };
    const counted = this.#count.count(`${name} ${caller.admissionKey}`);
    if (isPromise(counted)) return counted.then(check);
    check(counted);
    return undefined;
  }
}
