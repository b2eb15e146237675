import type { OperationVariables, TypedDocumentNode } from '@apollo/client';
import {
  type FieldResult,
  type Intent,
  newIntent,
  type Progress,
  readField,
} from '@ledger-gateway/client';
import { useEffect, useState } from 'react';
import { useLedger } from './ledger.ts';
import { findOpenWrite, forgetOpenWrite, keepOpenWrite } from './open-write.ts';

export type Outcome = { readonly __typename?: string; readonly code?: unknown };

/** The state of a write. */
export type WriteState<Member> =
  | { readonly phase: 'idle' }
  /** `share` is the part of the request that was sent, from 0 to 1. `wait` is why it takes longer. */
  | {
      readonly phase: 'sending';
      readonly share: number;
      readonly wait: Progress['state'] | undefined;
      readonly cancel: () => void;
    }
  /** Asks what became of it, without sending it. */
  | { readonly phase: 'asking' }
  | {
      readonly phase: 'settled';
      readonly result: FieldResult<Member>;
      /** When the user asked again for this result. */
      readonly askedAt: Date | undefined;
      /** Asks what became of it, where that can change something. */
      readonly askAgain: (() => void) | undefined;
    };

/** The members that do not say whether the write took effect. */
const unclear = new Set<unknown>(['LedgerOutcomeUnknown', 'LedgerUnrecognizedStatus']);

/** Whether the outcome of a write is not known: until it is, or the user has checked, its form is locked. */
export function isOpen(state: WriteState<Outcome>): boolean {
  if (state.phase !== 'settled') return state.phase !== 'idle';
  const { result } = state;
  if (result.kind === 'member') return unclear.has(result.member.__typename);
  return result.kind !== 'error';
}

/** Whether the outcome can still change. */
function mayChange(result: FieldResult<Outcome>): boolean {
  if (result.kind !== 'member') return result.kind === 'lost';
  const { code } = result.member;
  return code === 'IN_PROGRESS' || code === 'ORPHANED';
}

/** A mutation with one root field. Each call of `submit` is a new intent. */
export function useWrite<
  D extends Record<Name, Outcome | null>,
  Variables extends OperationVariables,
  Name extends keyof D & string,
>(document: TypedDocumentNode<D, Variables>, name: Name, { isUpload = false } = {}) {
  type Member = NonNullable<D[Name]>;
  const { client, listeners, settle } = useLedger();
  const [left] = useState(() => findOpenWrite<Variables>(name));
  const [state, setState] = useState<WriteState<Member>>({ phase: left ? 'asking' : 'idle' });
  const update = (change: { share?: number; wait?: Progress['state'] }) =>
    setState((now) => (now.phase === 'sending' ? { ...now, ...change } : now));

  // biome-ignore lint/correctness/useExhaustiveDependencies: only a write that was open when the page was left.
  useEffect(() => {
    if (left) void ask(left.intent);
  }, []);

  async function send(source: Variables | Promise<Variables>): Promise<void> {
    const controller = new AbortController();
    const cancel = () => controller.abort();
    // At once, so that a second click is none.
    setState({ phase: 'sending', share: 0, wait: undefined, cancel });
    const variables = await Promise.resolve(source).catch(() => undefined);
    if (variables === undefined || controller.signal.aborted) return setState({ phase: 'idle' });
    const intent = newIntent();
    keepOpenWrite(name, { intent, variables });
    // Later requests that are not sent say nothing about one whose response was lost.
    let wasLost = false;
    listeners.set(intent, ({ state: wait }) => {
      wasLost ||= wait === 'lost';
      update({ wait: wasLost && wait === 'not-sent' ? 'lost' : wait });
    });
    const onUploadProgress = (share: number) => update({ share });
    const result = await client
      .mutate<D, OperationVariables>({
        mutation: document,
        variables,
        // An outcome is an event, and no data to cache.
        fetchPolicy: 'no-cache',
        errorPolicy: 'all',
        context: {
          headers: { 'idempotency-key': intent },
          fetchOptions: { signal: controller.signal, ...(isUpload && { onUploadProgress }) },
        },
      })
      .catch((error: unknown) => ({ data: undefined, error }))
      .finally(() => listeners.delete(intent));
    // What was cancelled may have taken effect.
    if (controller.signal.aborted) return ask(intent);
    finish(readField<D, Name>(result, name, intent), intent);
  }

  async function ask(intent: Intent, askedAt?: Date): Promise<void> {
    setState({ phase: 'asking' });
    finish(readField<D, Name>(await settle<D>(intent), name), intent, askedAt);
  }

  function finish(result: FieldResult<Member>, intent: Intent, askedAt?: Date): void {
    const askAgain = mayChange(result) ? () => void ask(intent, new Date()) : undefined;
    const settled: WriteState<Member> = { phase: 'settled', result, askedAt, askAgain };
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
    /** Variables that cannot be obtained, such as those of a file, are not sent: the page tells why. */
    submit: (variables: Variables | Promise<Variables>) => void send(variables),
    dismiss,
  };
}
