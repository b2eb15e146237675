import { ServerError } from '@apollo/client/errors';
import { ApolloLink } from '@apollo/client/link';
import { OperationTypeNode } from 'graphql';
import { catchError, defer, map, of, retry, throwError, timeout, timer } from 'rxjs';

/** What the user decided to do, once. To ask again what became of it, pass the same object again. */
export type Intent = {
  readonly key: string;
  /** When the user decided, in milliseconds since 1970. */
  readonly since: number;
  /** A request was sent and got no response, so it may have taken effect. */
  responseLost: boolean;
};

declare module '@apollo/client' {
  interface DefaultContext {
    intent?: Intent;
    /** How long an attempt may take, in milliseconds. */
    attemptMs?: number;
    /** Called before each repeat. */
    onRepeat?: () => void;
  }
}

export const newIntent = (): Intent => ({
  key: crypto.randomUUID(),
  since: Date.now(),
  responseLost: false,
});

/** A response that does not settle what became of the intent. */
class Unsettled {
  readonly result: ApolloLink.Result;

  constructor(result: ApolloLink.Result) {
    this.result = result;
  }
}

/**
 * Gives each mutation an `Idempotency-Key`. Repeats it with the same key until its outcome is known, but not
 * longer than `patienceMs` after the first failure. An attempt without a response ends after `attemptMs`.
 */
export function createIdempotencyLink({
  patienceMs = 45_000,
  attemptMs = 20_000,
} = {}): ApolloLink {
  return new ApolloLink((operation, forward) => {
    if (operation.operationType !== OperationTypeNode.MUTATION) return forward(operation);
    const context = operation.getContext();
    const { intent = newIntent(), onRepeat, headers } = context;
    operation.setContext({ intent, headers: { ...headers, 'idempotency-key': intent.key } });
    let giveUpAt: number | undefined;
    return defer(() => forward(operation)).pipe(
      timeout({ first: context.attemptMs ?? attemptMs }),
      map((result) => {
        if (isUnsettled(result)) throw new Unsettled(result);
        return result;
      }),
      retry({
        delay(reason: unknown, count) {
          if (!(reason instanceof Unsettled)) {
            if (isRejection(reason)) return throwError(() => reason);
            intent.responseLost = true;
          }
          const waitMs = delayMs(count, operation.getContext().response);
          giveUpAt ??= Date.now() + patienceMs;
          if (Date.now() + waitMs > giveUpAt) return throwError(() => reason);
          onRepeat?.();
          return timer(waitMs);
        },
      }),
      catchError((reason: unknown) =>
        reason instanceof Unsettled ? of(reason.result) : throwError(() => reason),
      ),
    );
  });
}

/** Whether the gateway says that the same request may be sent again, or that an earlier one is still in progress. */
function isUnsettled({ data, errors = [] }: ApolloLink.Result): boolean {
  return (
    errors.some(({ extensions }) => extensions?.retryable === true) ||
    Object.values(data ?? {}).some((member) => member?.code === 'IN_PROGRESS')
  );
}

/** A 4xx without a GraphQL response, from a proxy. A 408 and a 429 may be repeated. */
function isRejection(reason: unknown): boolean {
  if (!ServerError.is(reason)) return false;
  const { statusCode } = reason;
  return statusCode >= 400 && statusCode < 500 && statusCode !== 408 && statusCode !== 429;
}

/** Half a second at first, up to 5 s later, with jitter, and at least as long as `Retry-After` asks. */
function delayMs(count: number, response: Response | undefined): number {
  const backoffMs = Math.min(5_000, 250 * 2 ** count) * (0.5 + Math.random() / 2);
  return Math.max(backoffMs, 1_000 * Number(response?.headers.get('retry-after') ?? 0));
}
