import type { Caller } from './auth.ts';
import { missingToken } from './errors.ts';
import type { Call } from './upstream/calls.ts';
import { createUpstream, type Upstream } from './upstream/client.ts';
import { createLoaders, type Loaders } from './upstream/loaders.ts';

/** What is born with each request, and what a resolver sees of it. */
export type Context = {
  /** The service, on behalf of the caller. Throws `UNAUTHENTICATED` where there is no caller. */
  readonly upstream: Upstream;
  readonly loaders: Loaders;
  /** The name of the query parameter that carries a CSV option, where it is configured. */
  readonly csvOptionParam: string | undefined;
};

/** Binds a request to the service: its caller's token, its id, and the signal of the caller leaving. */
export function createContext(
  call: Call,
  request: { caller: Caller | null; requestId: string; signal: AbortSignal },
  csvOptionParam: string | undefined,
): Context {
  const { caller, requestId, signal } = request;
  const upstream = caller && createUpstream(call, { token: caller.token, requestId, signal });
  const known = () => {
    if (!upstream) throw missingToken();
    return upstream;
  };
  return {
    get upstream() {
      return known();
    },
    loaders: createLoaders(known),
    csvOptionParam,
  };
}
