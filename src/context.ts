import type { GraphQLResolveInfo } from 'graphql';
import type { Caller } from './auth.ts';
import { GatewayError, missingToken } from './errors.ts';
import { selectedFields } from './limits.ts';
import { LONG, nextTurn } from './turns.ts';
import type { Call } from './upstream/calls.ts';
import { createUpstream, type Upstream } from './upstream/client.ts';
import type { UpstreamRequest } from './upstream/http.ts';
import { createLoaders, type Loaders } from './upstream/loaders.ts';

/** What is born with each request, and what a resolver sees of it. */
export type Context = {
  /** The service, on behalf of the caller. Throws `UNAUTHENTICATED` where there is no caller. */
  readonly upstream: () => Upstream;
  /** The reads of this request, each made once. Throws `UNAUTHENTICATED` where there is no caller. */
  readonly loaders: () => Loaders;
  /** Whether there is a caller. */
  readonly isAuthenticated: boolean;
  /** Counts entity references, and throws `OPERATION_LIMIT_EXCEEDED` where they are too many. */
  readonly admitReferences: (count: number) => void;
  /**
   * Counts a list of so many bytes that a field asks for, and throws `OPERATION_LIMIT_EXCEEDED` where the
   * answer would be too large. Resolves when it may be executed: many short lists are as long as one.
   */
  readonly admitList: (size: number, info: GraphQLResolveInfo) => Promise<void>;
  /** The name of the query parameter that carries a CSV option, where it is configured. */
  readonly csvOptionParam: string | undefined;
};

/** Entity references that one request may hold, over all of its aliases. */
export const MAX_REFERENCES = 10_000;

/**
 * How large the answer to a request may be, in the largest answers of the service, each counted once for
 * every field that is asked of it: aliases multiply one list without another call.
 */
const MAX_LISTS = 16;

/** Binds a request to the service: its caller's token, its id, and the signal of the caller leaving. */
export function createContext(
  call: Call,
  request: {
    caller: Caller | null;
    requestId: string;
    signal: AbortSignal;
    trace: UpstreamRequest['trace'];
  },
  config: { csvOptionParam: string | undefined; maxResponseBytes: number },
): Context {
  const { caller, ...rest } = request;
  const upstream = caller && createUpstream(call, { token: caller.token, ...rest });
  let loaders: Loaders | undefined;
  let references = 0;
  let size = 0;
  let listed = 0;
  return {
    upstream: () => known(upstream),
    loaders() {
      loaders ??= createLoaders(known(upstream));
      return loaders;
    },
    isAuthenticated: caller !== null,
    admitReferences(count) {
      references += count;
      if (references <= MAX_REFERENCES) return;
      throw new GatewayError(
        'OPERATION_LIMIT_EXCEEDED',
        `The request has more representations than the ${MAX_REFERENCES} allowed.`,
      );
    },
    async admitList(listSize, info) {
      size += listSize * selectedFields(info);
      if (size > config.maxResponseBytes * MAX_LISTS) {
        throw new GatewayError(
          'OPERATION_LIMIT_EXCEEDED',
          'The answer would be too large: ask for fewer lists, or fields of them, at a time.',
        );
      }
      listed += listSize;
      if (listed > LONG) await nextTurn();
    },
    csvOptionParam: config.csvOptionParam,
  };
}

/** What only a request with a caller has. */
function known<Part>(part: Part | null): Part {
  if (part === null) throw missingToken();
  return part;
}
