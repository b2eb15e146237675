import type { OperationVariables, TypedDocumentNode } from '@apollo/client';
import { useApolloClient } from '@apollo/client/react';
import { useState } from 'react';
import { type FieldResult, type MemberOf, readField } from './field-result.ts';
import { type Intent, newIntent } from './links/idempotency-link.ts';
import { findOpenWrite, forgetOpenWrite, keepOpenWrite } from './open-write.ts';

/** The state of a write. */
export type WriteState<Member> =
  | { readonly phase: 'idle' }
  /** `share` is the part of the request that was sent, from 0 to 1. `repeats` counts the requests after the first. */
  | { readonly phase: 'sending'; readonly share: number; readonly repeats: number }
  | {
      readonly phase: 'settled';
      readonly result: FieldResult<Member>;
      /** When the user asked again for this result. */
      readonly askedAt?: Date | undefined;
      /** Asks again with the same key: the gateway does not send the write a second time. Missing if it cannot. */
      readonly askAgain: (() => void) | undefined;
    };

/** Whether the outcome of a write is not known: until it is, or the user closes the notice, its form is locked. */
export function isOpen(state: WriteState<{ readonly __typename?: string }>): boolean {
  if (state.phase !== 'settled') return state.phase === 'sending';
  const { result } = state;
  return (
    result.kind === 'lost' ||
    (result.kind === 'member' && result.member.__typename === 'LedgerOutcomeUnknown')
  );
}

/** The time for an upload over a slow connection, in milliseconds. */
const UPLOAD_MS = 10 * 60_000;

/** A mutation with one root field. Each call of `submit` is a new intent, with a new key. */
export function useWrite<
  D extends object,
  Variables extends OperationVariables,
  Name extends keyof D & string,
>(document: TypedDocumentNode<D, Variables>, name: Name, { isUpload = false } = {}) {
  const client = useApolloClient();
  const [left] = useState(() => findOpenWrite<Variables>(name));
  const [state, setState] = useState<WriteState<MemberOf<D, Name>>>(
    left
      ? {
          phase: 'settled',
          result: { kind: 'lost' },
          askAgain: left.variables && askAgain(left.variables, left.intent),
        }
      : { phase: 'idle' },
  );

  function askAgain(variables: Variables, intent: Intent): () => void {
    return () => void send(variables, intent, new Date());
  }

  async function send(variables: Variables, intent: Intent, askedAt?: Date): Promise<void> {
    setState({ phase: 'sending', share: 0, repeats: 0 });
    keepOpenWrite(name, { intent, variables });
    const result = await client.mutate<D, OperationVariables>({
      mutation: document,
      variables,
      // An outcome is an event, and no data to cache.
      fetchPolicy: 'no-cache',
      errorPolicy: 'all',
      context: {
        intent,
        onRepeat: () =>
          setState((now) => (now.phase === 'sending' ? { ...now, repeats: now.repeats + 1 } : now)),
        ...(isUpload && {
          attemptMs: UPLOAD_MS,
          fetchOptions: {
            onUploadProgress: (share: number) =>
              setState((now) => (now.phase === 'sending' ? { ...now, share } : now)),
          },
        }),
      },
    });
    const settled: WriteState<MemberOf<D, Name>> = {
      phase: 'settled',
      result: readField(result, name, intent),
      askedAt,
      askAgain: askAgain(variables, intent),
    };
    if (!isOpen(settled)) forgetOpenWrite(name);
    setState(settled);
  }

  function dismiss(): void {
    forgetOpenWrite(name);
    setState({ phase: 'idle' });
  }

  return {
    state,
    /** The variables of the write that was open when the page was left. */
    leftVariables: left?.variables,
    submit: (variables: Variables) => void send(variables, newIntent()),
    dismiss,
  };
}
