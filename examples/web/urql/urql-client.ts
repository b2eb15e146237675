import { Client, CombinedError, fetchExchange, makeOperation, mapExchange } from '@urql/core';
import { authExchange } from '@urql/exchange-auth';
import { retryExchange } from '@urql/exchange-retry';
import type { Session } from '../src/session.ts';

/** Gives each mutation its key. To ask again, pass the same `idempotencyKey` in the context. */
const keyExchange = mapExchange({
  onOperation(operation) {
    if (operation.kind !== 'mutation') return operation;
    const { idempotencyKey = crypto.randomUUID(), fetchOptions } = operation.context;
    const options = typeof fetchOptions === 'function' ? fetchOptions() : fetchOptions;
    const headers = new Headers(options?.headers);
    headers.set('idempotency-key', idempotencyKey);
    return makeOperation(operation.kind, operation, {
      ...operation.context,
      idempotencyKey,
      fetchOptions: { ...options, headers: Object.fromEntries(headers) },
    });
  },
});

/** Sends the token of the session. If it is rejected, sends the operation once more with a new one, and the same key. */
const createSignInExchange = (session: Session) =>
  authExchange(async ({ appendHeaders }) => {
    let token = await session.token();
    return {
      addAuthToOperation: (operation) =>
        appendHeaders(operation, { authorization: `Bearer ${token}` }),
      didAuthError: ({ graphQLErrors }) =>
        graphQLErrors.some(({ extensions }) => extensions.code === 'UNAUTHENTICATED'),
      async refreshAuth() {
        token = await session.renew();
      },
    };
  });

/** Repeats a mutation until its outcome is known. The key is in its context, so a repeat has the same one. */
const repeatExchange = retryExchange({
  initialDelayMs: 250,
  maxDelayMs: 5_000,
  maxNumberAttempts: 10,
  retryIf: ({ networkError, graphQLErrors, response }, { kind }) =>
    kind === 'mutation' &&
    (networkError
      ? !isRejection(response?.status)
      : graphQLErrors.some(({ extensions }) => extensions.retryable === true)),
});

/** A 4xx from a proxy. A 408 and a 429 may be repeated. */
function isRejection(status = 0): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** Makes an outcome that is still in progress an error, because urql repeats only errors. */
const inProgressExchange = mapExchange({
  onResult(result) {
    const members: { code?: string }[] = Object.values(result.data ?? {});
    return members.some((member) => member?.code === 'IN_PROGRESS')
      ? { ...result, error: new CombinedError({ networkError: new Error('IN_PROGRESS') }) }
      : result;
  },
});

export function createUrqlClient(url: string, session: Session): Client {
  return new Client({
    url,
    preferGetMethod: false,
    exchanges: [
      keyExchange,
      createSignInExchange(session),
      repeatExchange,
      inProgressExchange,
      fetchExchange,
    ],
  });
}
