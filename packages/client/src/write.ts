import { isObject, parseJson } from './answer.ts';
import { defaults, type Progress, progressListeners } from './attempts.ts';
import { cancel } from './cancel.ts';
import { type AnyResult, type FieldResult, type LedgerError, readField } from './field-result.ts';
import { type Intent, newIntent } from './intent.ts';
import { noteIntent } from './sent-intent.ts';
import { type SettleOptions, settle } from './settle.ts';
import { identify } from './token.ts';

/** A member of a union, whose document selects `__typename`. */
export type Outcome = { readonly __typename: string; readonly code?: unknown };

type RefusalName = 'LedgerFailed' | 'LedgerNotPermitted' | 'LedgerNoMoreInvoices';

/** Without a generated type, a name is any string, and says nothing. */
type DoneMember<Member extends Outcome> = string extends Member['__typename']
  ? Member
  : Exclude<Member, { __typename: `Ledger${string}` }>;
type RefusedMember<Member extends Outcome> = string extends Member['__typename']
  ? Member
  : Extract<Member, { __typename: RefusalName }>;

/** What a page shows of a write. */
export type WriteState<Member extends Outcome> =
  | { readonly phase: 'idle' }
  /** `wait` is why it takes longer. */
  | { readonly phase: 'sending'; readonly wait: Progress['state'] | undefined }
  /** Asks what became of it, without sending it. */
  | { readonly phase: 'asking' }
  | { readonly phase: 'done'; readonly member: DoneMember<Member> }
  /** The ledger said no: `member` says why. */
  | { readonly phase: 'refused'; readonly member: RefusedMember<Member> }
  /** Nothing was done. */
  | { readonly phase: 'failed'; readonly error: LedgerError }
  /** It may have taken effect. Where `mayAsk`, asking again can tell; otherwise the user has to check in the ledger. */
  | { readonly phase: 'unknown'; readonly result: FieldResult<Member>; readonly mayAsk: boolean };

export type WriteStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** The result of a mutation with this root field, from any client. */
export type WriteResult<Name extends string, Member> = Omit<AnyResult<object>, 'data'> & {
  readonly data?: { readonly [Key in Name]?: Member | null | undefined } | null | undefined;
};

export type WriteOptions<Name extends string, Member, Variables> = SettleOptions & {
  /** The response name of the root field. Its write is kept in the storage by this name. */
  readonly field: Name;
  /** Sends the mutation with these headers, by a client on `createLedgerFetch`. */
  readonly send: (
    headers: { 'idempotency-key': Intent },
    variables: Variables,
  ) => Promise<WriteResult<Name, Member>>;
  /** Where the intent is kept over a reload. `sessionStorage` by default. */
  readonly storage?: WriteStorage | undefined;
};

export type Write<Member extends Outcome, Variables> = {
  readonly getState: () => WriteState<Member>;
  /** Calls `listener` after each change. The first call asks what became of a write that was open at a reload. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Sends a new write, unless there is one whose outcome is not known. Variables that cannot be obtained are not sent. */
  readonly submit: (variables: Variables | Promise<Variables>) => void;
  /** Stops sending, and asks what became of it. */
  readonly cancel: () => void;
  /** Asks again what became of it. */
  readonly askAgain: () => void;
  /** Unlocks the button: the user has seen the outcome, or has checked in the ledger. Not while asking can tell. */
  readonly dismiss: () => void;
};

const refusals = new Set<string>([
  'LedgerFailed',
  'LedgerNotPermitted',
  'LedgerNoMoreInvoices',
] satisfies RefusalName[]);

/** Whether a button has to stay locked. */
export const isLocked = ({ phase }: { readonly phase: WriteState<Outcome>['phase'] }): boolean =>
  phase === 'sending' || phase === 'asking' || phase === 'unknown';

/** Creates what one button needs: a lock, a storage for its intent, and one state to show. */
export function createWrite<Name extends string, Member extends Outcome, Variables = void>(
  options: WriteOptions<Name, Member, Variables>,
): Write<Member, Variables> {
  type Data = Record<Name, Member>;
  const { field, send, headers = {}, token, attemptMs = defaults.attemptMs } = options;
  const kept = keepIntents(field, options.storage);
  const listeners = new Set<() => void>();
  let state: WriteState<Member> = { phase: kept.isEmpty() ? 'idle' : 'asking' };
  let isResumed = false;
  let isCancelled = false;
  /** The write whose outcome is not known. */
  let open: { intent: Intent; user: string } | undefined;

  function set(next: WriteState<Member>): void {
    state = next;
    for (const listener of listeners) listener();
  }

  async function submit(source: Variables | Promise<Variables>): Promise<void> {
    if (isLocked(state)) return;
    isCancelled = false;
    set({ phase: 'sending', wait: undefined });
    try {
      const variables = await source;
      const intent = newIntent();
      const caller = await identify({ headers }, token, attemptMs, undefined);
      if (isCancelled) return set({ phase: 'idle' });
      const user = caller?.user ?? '';
      // Without a token, the request is not sent, and its error says so.
      if (caller) kept.set(user, intent);
      open = { intent, user };
      let wasLost = false;
      progressListeners.set(intent, ({ state: now }) => {
        wasLost ||= now === 'lost';
        // That a later attempt was not sent says nothing about the lost one.
        const wait = wasLost && now === 'not-sent' ? 'lost' : now;
        if (state.phase === 'sending') set({ phase: 'sending', wait });
      });
      const result = await send({ 'idempotency-key': intent }, variables).catch(
        (error: unknown): WriteResult<Name, Member> => ({ error }),
      );
      progressListeners.delete(intent);
      // Otherwise, it was asked about meanwhile.
      if (open?.intent === intent) finish(read(result, intent));
    } catch {
      // There are no variables.
      set({ phase: 'idle' });
    }
  }

  async function ask(): Promise<void> {
    if (!open) return;
    const { intent } = open;
    set({ phase: 'asking' });
    const result = read(await settle<Data>(intent, options), intent);
    if (open?.intent === intent) finish(result);
  }

  async function resume(): Promise<void> {
    const caller = await identify({ headers }, token, attemptMs, undefined);
    const intent = caller && kept.get(caller.user);
    // The write of another user stays for its owner.
    if (!caller || !intent) return set({ phase: 'idle' });
    noteIntent(intent, caller.user);
    open = { intent, user: caller.user };
    await ask();
  }

  function read(result: WriteResult<Name, Member>, intent: Intent): FieldResult<Member> {
    return readField<{ [Key in Name]?: Member }, Name>(result as AnyResult<Data>, field, intent);
  }

  function finish(result: FieldResult<Member>): void {
    const next = toState(result);
    // What nobody has seen is asked about when the component is back.
    const isSeen = listeners.size > 0 && !isLocked(next);
    if (isSeen && open) kept.set(open.user, undefined);
    if (!isLocked(next)) open = undefined;
    set(next);
  }

  return {
    getState: () => state,
    subscribe(listener) {
      listeners.add(listener);
      if (!isResumed && state.phase === 'asking') void resume();
      isResumed = true;
      return () => listeners.delete(listener);
    },
    submit: (variables) => void submit(variables),
    cancel() {
      isCancelled = true;
      if (state.phase !== 'sending' || !open) return;
      // The client may not have called `fetch` yet: to settle makes sure that it is not executed later.
      if (cancel(open.intent)) set({ phase: 'asking' });
      else void ask();
    },
    askAgain: () => void (state.phase === 'unknown' && ask()),
    dismiss() {
      if (state.phase === 'sending' || state.phase === 'asking') return;
      if (state.phase === 'unknown' && state.result.kind === 'lost') return;
      if (open) kept.set(open.user, undefined);
      open = undefined;
      set({ phase: 'idle' });
    },
  };
}

/** The state after a result. A member of a newer gateway whose name begins with `Ledger` is unknown. */
function toState<Member extends Outcome>(result: FieldResult<Member>): WriteState<Member> {
  if (result.kind === 'error') return { phase: 'failed', error: result.error };
  if (result.kind !== 'member') return { phase: 'unknown', result, mayAsk: result.kind === 'lost' };
  const { member } = result;
  const { __typename: name = 'Ledger', code } = member;
  const phase = refusals.has(name) ? 'refused' : 'done';
  // The types follow the same names.
  if (phase === 'refused' || !name.startsWith('Ledger')) {
    return { phase, member } as unknown as WriteState<Member>;
  }
  return { phase: 'unknown', result, mayAsk: code === 'IN_PROGRESS' || code === 'ORPHANED' };
}

/** The open intents of a field, by user. A tab keeps them over a reload, if it has a storage with room. */
function keepIntents(field: string, own: WriteStorage | undefined) {
  const item = `ledger-gateway:write:${field}`;
  const storage = (): WriteStorage => own ?? sessionStorage;
  function load(): Record<string, unknown> {
    try {
      const intents = parseJson(storage().getItem(item));
      return isObject(intents) ? intents : {};
    } catch {
      return {};
    }
  }
  return {
    isEmpty: () => Object.keys(load()).length === 0,
    get(user: string): Intent | undefined {
      const intent = load()[user];
      return typeof intent === 'string' ? intent : undefined;
    },
    set(user: string, intent: Intent | undefined): void {
      try {
        const intents = { ...load(), [user]: intent };
        if (Object.values(intents).some((each) => each !== undefined))
          storage().setItem(item, JSON.stringify(intents));
        else storage().removeItem(item);
      } catch {
        // Without a storage, or with a full one, the intent is known until the page is left.
      }
    },
  };
}
