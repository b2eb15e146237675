import type { Caller } from './auth.ts';
import { GatewayError, missingToken } from './errors.ts';
import type { Call } from './upstream/calls.ts';
import { createUpstream, type Upstream } from './upstream/client.ts';
import { createLoaders, type Loaders } from './upstream/loaders.ts';

/** What is born with each request, and what a resolver sees of it. */
export type Context = {
  /** The service, on behalf of the caller. Throws `UNAUTHENTICATED` where there is no caller. */
  readonly upstream: () => Upstream;
  /** The reads of this request, each made once. Throws `UNAUTHENTICATED` where there is no caller. */
  readonly loaders: () => Loaders;
  /** Counts entity references, and throws `OPERATION_LIMIT_EXCEEDED` where they are too many. */
  readonly admitReferences: (count: number) => void;
  /** The name of the query parameter that carries a CSV option, where it is configured. */
  readonly csvOptionParam: string | undefined;
};

/** Entity references that one request may hold, over all of its aliases. */
export const MAX_REFERENCES = 10_000;

/** Binds a request to the service: its caller's token, its id, and the signal of the caller leaving. */
export function createContext(
  call: Call,
  request: { caller: Caller | null; requestId: string; signal: AbortSignal },
  csvOptionParam: string | undefined,
): Context {
  const { caller, requestId, signal } = request;
  const upstream = caller && createUpstream(call, { token: caller.token, requestId, signal });
  const loaders = upstream && createLoaders(upstream);
  let references = 0;
  return {
    upstream: () => known(upstream),
    loaders: () => known(loaders),
    admitReferences(count) {
      references += count;
      if (references <= MAX_REFERENCES) return;
      throw new GatewayError(
        'OPERATION_LIMIT_EXCEEDED',
        `The request has more representations than the ${MAX_REFERENCES} allowed.`,
      );
    },
    csvOptionParam,
  };
}

/** What only a request with a caller has. */
function known<Part>(part: Part | null): Part {
  if (part === null) throw missingToken();
  return part;
}
