import { CombinedGraphQLErrors, ServerError } from '@apollo/client/errors';
import type { Intent } from './links/idempotency-link.ts';
import { SignInError } from './session.ts';

/** A fault of the input, and the path of the field that has it, from the argument on. */
export type Fault = { readonly path: readonly (string | number)[]; readonly message: string };

/** An entry in `errors`: this request did nothing in the field. */
export type Refusal = {
  readonly code: string;
  readonly requestId: string | undefined;
  readonly retryable: boolean;
  readonly faults: readonly Fault[];
};

/** What became of one root field of a mutation. */
export type FieldResult<Member> =
  | { readonly kind: 'member'; readonly member: Member }
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** No response arrived that says what became of the field. It may or may not have taken effect. */
  | { readonly kind: 'lost' };

type Data = Readonly<Record<string, unknown>>;
export type MemberOf<D extends object, Name extends keyof D> = NonNullable<D[Name]>;

/**
 * Reads the result of one root field, by its response name. Each field of a mutation has its own result: the
 * success of one says nothing about its neighbours.
 */
export function readField<D extends object, Name extends keyof D & string>(
  result: { readonly data?: D | null | undefined; readonly error?: unknown },
  name: Name,
  intent: Intent,
): FieldResult<MemberOf<D, Name>> {
  const member = result.data?.[name];
  if (member != null) return { kind: 'member', member };
  const { refusal, isFromField } = readRefusal(result.error, name);
  // The browser repeats a request when a connection breaks, and the page does not learn of it. A condition that will
  // pass, such as an overload, may have begun after the first request.
  const mayBeRepeat = intent.responseLost || refusal.retryable;
  return mayBeRepeat && !(isFromField && settlesEarlierRequests(refusal))
    ? { kind: 'lost' }
    : { kind: 'refused', refusal };
}

/**
 * Whether an error also says that no earlier request with the same key took effect. If the gateway executed the
 * field, its key was free, so none did. An error of the key itself says nothing about earlier requests.
 */
function settlesEarlierRequests({ code }: Refusal): boolean {
  return !code.startsWith('IDEMPOTENCY_');
}

/** The error that concerns a root field: its own, or one without a path, which concerns all fields. */
export function readRefusal(
  error: unknown,
  name: string,
): { refusal: Refusal; isFromField: boolean } {
  if (CombinedGraphQLErrors.is(error)) {
    const own = error.errors.find(({ path }) => path?.[0] === name);
    const entry = own ?? error.errors.find(({ path }) => path === undefined);
    const { code, requestId, retryable, faults } = entry?.extensions ?? {};
    const refusal = {
      code: typeof code === 'string' ? code : 'UNKNOWN',
      requestId: typeof requestId === 'string' ? requestId : undefined,
      retryable: retryable === true,
      faults: Array.isArray(faults) ? faults.filter(isFault).map(toFault) : [],
    };
    return { refusal, isFromField: own !== undefined };
  }
  const code =
    error instanceof SignInError
      ? 'UNAUTHENTICATED'
      : ServerError.is(error)
        ? `HTTP_${error.statusCode}`
        : 'NOT_REACHED';
  const refusal = { code, requestId: undefined, retryable: code === 'NOT_REACHED', faults: [] };
  return { refusal, isFromField: false };
}

/** The message of the gateway names the path. Beside the field, the user need not read it. */
function toFault({ path, message }: Fault): Fault {
  return { path, message: message.replace(/^"[^"]*" /, 'This ') };
}

function isFault(value: Data): boolean {
  return (
    typeof value === 'object' && Array.isArray(value.path) && typeof value.message === 'string'
  );
}

/** The fault of a field, if it has one. */
export function faultOf(faults: readonly Fault[], path: Fault['path']): string | undefined {
  return faults.find((fault) => fault.path.join('.') === path.join('.'))?.message;
}
