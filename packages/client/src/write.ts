import { errorBody, lostBody, parseJson, textOf, tryTo } from './answer.ts';
import { DOUBLE_CLICK_MS, tell } from './attempts.ts';
import { type AnyResult, type FieldResult, type LedgerError, readField } from './field-result.ts';
import { type Intent, isIntent, type Progress } from './intent.ts';
import { cancel, createIntent, listeners, note, recall } from './known-intent.ts';
import { type SettleOptions, settle } from './settle.ts';
import { hash, identify } from './token.ts';

/** A member of a union, whose document selects `__typename`. */
export type Outcome = { readonly __typename: string; readonly code?: unknown };

type RefusalName = 'LedgerFailed' | 'LedgerNotPermitted' | 'LedgerNoMoreInvoices';

/** Without a generated type, a name is any string, and says nothing. Relay adds `%other`, which has no other field. */
type DoneMember<Member extends Outcome> = string extends Member['__typename']
  ? Member
  : Exclude<Member, { __typename: `Ledger${string}` | '%other' }>;
type RefusedMember<Member extends Outcome> = string extends Member['__typename']
  ? Member
  : Extract<Member, { __typename: RefusalName }>;

/** What a page shows of a write. */
export type WriteState<Member extends Outcome> =
  | { readonly phase: 'idle' }
  /** `wait` is why it takes longer. */
  | { readonly phase: 'sending'; readonly wait?: Progress['state'] }
  /** Asks what became of it, without sending it. */
  | { readonly phase: 'asking' }
  | { readonly phase: 'done'; readonly member: DoneMember<Member> }
  /** The ledger said no: `member` says why. */
  | { readonly phase: 'refused'; readonly member: RefusedMember<Member> }
  /** Nothing was done. */
  | { readonly phase: 'failed'; readonly error: LedgerError }
  /** It may have taken effect. */
  | {
      readonly phase: 'unknown';
      readonly result: FieldResult<Member>;
      /** Whether asking again can tell. */
      readonly mayAsk: boolean;
      /** Whether the user may check in the ledger instead, and then call `dismiss`. */
      readonly mayDismiss: boolean;
    };

export type WriteStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** The result of a mutation with this root field, from any client. */
export type WriteResult<Name extends string, Member> = Omit<AnyResult<object>, 'data'> & {
  readonly data?: { readonly [Key in Name]?: Member | null | undefined } | null | undefined;
};

export type WriteOptions<Name extends string, Member, Variables> = SettleOptions & {
  /** The response name of the root field. */
  readonly field: Name;
  /**
   * The name of the write in the storage, `field` by default. Two writes of one field need names of their own, such as
   * those of the rows of a table: `row-7`.
   */
  readonly name?: string | undefined;
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
  /**
   * Calls `listener` after each change. The first one asks what became of a write that is open, such as since a reload
   * or since another user signed in.
   */
  readonly subscribe: (listener: () => void) => () => void;
  /**
   * Sends a new write. While there is one of this user whose outcome is not known, it asks about that one instead, unless
   * this page sent it with other variables. Variables that cannot be obtained are not sent.
   */
  readonly submit: (variables: Variables | Promise<Variables>) => void;
  /**
   * Stops sending, and asks what became of it, if it may have been sent. Ignored for `doubleClickMs` after `submit`: it may
   * be the second click of a double click, under whose pointer "Cancel" has appeared.
   */
  readonly cancel: () => void;
  /** Asks again what became of it. After a sign-in, it shows what is open of the new user, or nothing. */
  readonly askAgain: () => void;
  /** Unlocks the button: the user has seen the outcome, or, where `mayDismiss`, has checked in the ledger. */
  readonly dismiss: () => void;
};

const refusals: readonly string[] = [
  'LedgerFailed',
  'LedgerNotPermitted',
  'LedgerNoMoreInvoices',
] satisfies RefusalName[];

/** Nothing to show. */
export const idle = { phase: 'idle' } as const;

/** Whether a button has to stay locked. */
export const isLocked = ({ phase }: { readonly phase: WriteState<Outcome>['phase'] }): boolean =>
  phase === 'sending' || phase === 'asking' || phase === 'unknown';

/** Creates what one button needs: a lock, a storage for its intent, and one state to show. */
export const createWrite = <Name extends string, Member extends Outcome, Variables = void>(
  options: WriteOptions<Name, Member, Variables>,
): Write<Member, Variables> => createLiveWrite(() => options);

/** Like `createWrite`, but its options may change, except for `field`, `name`, `url` and `storage`. */
export function createLiveWrite<Name extends string, Member extends Outcome, Variables>(
  getOptions: () => WriteOptions<Name, Member, Variables>,
): Write<Member, Variables> {
  type Data = Record<Name, Member>;
  type Open = { readonly intent?: Intent | undefined; readonly user?: string | undefined };
  const { url, field, name, storage } = getOptions();
  const kept = keepIntents(`ledger-gateway:write:${name ?? field} ${url}`, storage);
  /** Those of this write. */
  const own = new Set<() => void>();
  let state: WriteState<Member> = { phase: kept.find() ? 'asking' : 'idle' };
  /** The click, or the question, that the state is about. */
  let open: Open | undefined;
  /** When `submit` was called, in the time of `performance.now()`. */
  let submittedAt = Number.NEGATIVE_INFINITY;

  function set(next: WriteState<Member>): void {
    state = next;
    // What nobody has seen is asked about when the component is back.
    if (own.size > 0 && !isLocked(next)) forget();
    tell(own, undefined);
  }

  function getCaller() {
    return identify(getOptions(), getOptions());
  }

  async function submit(source: Variables | Promise<Variables>): Promise<void> {
    if (isLocked(state)) return;
    submittedAt = performance.now();
    forget();
    const click = {};
    open = click;
    set({ phase: 'sending' });
    const ready = await Promise.all([source, getCaller()]).catch(() => undefined);
    if (open !== click) return;
    if (!ready) return set(idle);
    const [variables, { user, refusal }] = ready;
    if (refusal) return set(toState(read(errorBody(refusal))));
    const id = tryTo(() => hash(JSON.stringify(variables)));
    // A write that may have been sent before is not replaced. One with other variables is that of another form.
    const before = kept.find(user, id);
    if (before) return ask({ intent: before, user });
    const intent = createIntent(name ?? '');
    // It is sent only as the user who clicked. Without a token or headers, this is not known yet.
    note(intent, { variables: id, user: user || undefined });
    kept.set(intent, user);
    const sent = { intent, user };
    open = sent;
    let wasSent = false;
    const listener = ({ intent: sentAs, state: now }: Progress) => {
      if (open !== sent || state.phase !== 'sending' || recall(intent).sentAs !== sentAs) return;
      wasSent ||= /lost|progress/.test(now);
      // That a later attempt was not sent says nothing about an earlier one.
      set({ phase: 'sending', wait: wasSent && now === 'not-sent' ? 'lost' : now });
    };
    listeners.add(listener);
    const send = async () => getOptions().send({ 'idempotency-key': intent }, variables);
    const result = await send().catch((error: unknown) => {
      // It says nothing of the write, not even its intent: a fault of the app.
      const said = read({ error });
      const isFault = said.error?.code === 'RESPONSE_LOST' && said.kind === 'unknown';
      if (isFault) globalThis.reportError?.(error);
      return { error };
    });
    listeners.delete(listener);
    return finish(sent, result);
  }

  async function ask(before: Open = open ?? {}): Promise<void> {
    open = before;
    set({ phase: 'asking' });
    const { user = before.user, refusal } = await getCaller();
    // The client had its result meanwhile.
    if (open !== before || !isLocked(state)) return;
    // The write of another user stays for its owner.
    if (!before.intent || user !== before.user) open = { intent: kept.find(user), user };
    const { intent } = open;
    if (!intent) return set(idle);
    if (refusal) return set(toState(read(lostBody(intent, refusal))));
    note(intent, { user });
    const settled = settle<Data>(intent, { ...getOptions(), url });
    return finish(open, await settled.catch((error: unknown) => ({ error })));
  }

  function read(result: object, intent?: Intent): FieldResult<Member> {
    return readField<{ [Key in Name]?: Member }, Name>(result as AnyResult<Data>, field, intent);
  }

  /** Shows a result to its user alone. Otherwise, the intent stays, and the write of who is there is asked about. */
  async function finish(of: Open, result: object): Promise<void> {
    const said = read(result, of.intent);
    // Who cancels is there, also while no token can be had.
    const { user } = said.error?.code === 'CANCELLED' ? of : await getCaller();
    // Otherwise, it was asked about meanwhile.
    if (open !== of || !isLocked(state)) return;
    return user === of.user ? set(toState(said)) : ask();
  }

  function forget(): void {
    if (open?.intent) kept.set(open.intent);
    open = undefined;
  }

  return {
    getState: () => state,
    subscribe(listener) {
      own.add(listener);
      // While nobody was listening, another user may have signed in.
      const mayBeOther = () => own.size === 1 && state.phase !== 'sending' && kept.find();
      if (state.phase === 'asking' ? !open : mayBeOther()) void ask();
      return () => own.delete(listener);
    },
    submit: (variables) => void submit(variables),
    cancel() {
      const { doubleClickMs = DOUBLE_CLICK_MS } = getOptions();
      const isDoubleClick = performance.now() - submittedAt < doubleClickMs;
      if (state.phase !== 'sending' || isDoubleClick) return;
      if (!open?.intent) {
        forget();
        set(toState(read(errorBody('CANCELLED'))));
      }
      // The client may not have called `fetch` yet: to settle makes sure that it is not executed later.
      else if (cancel(open.intent)) set({ phase: 'asking' });
      else void ask();
    },
    askAgain: () => void (state.phase === 'sending' || ask()),
    dismiss() {
      if (state.phase === 'unknown' ? !state.mayDismiss : isLocked(state)) return;
      forget();
      set(idle);
    },
  };
}

/** The state after a result. A member of a newer gateway whose name begins with `Ledger` is unknown. */
function toState<Member extends Outcome>(result: FieldResult<Member>): WriteState<Member> {
  if (result.kind === 'error') return { phase: 'failed', error: result.error };
  const { __typename: name = 'Ledger', code } = result.member ?? {};
  const isRefused = refusals.includes(name);
  // The types follow the same names.
  if (isRefused || !/^Ledger/.test(name)) {
    const phase = isRefused ? 'refused' : 'done';
    return { phase, member: result.member } as unknown as WriteState<Member>;
  }
  const isOrphaned = code === 'ORPHANED';
  const mayAsk = isOrphaned || code === 'IN_PROGRESS' || result.kind === 'lost';
  // It may stay orphaned.
  return { phase: 'unknown', result, mayAsk, mayDismiss: isOrphaned || !mayAsk };
}

/** The open intents of a write, and their users. A tab keeps them over a reload, if it has a storage with room. */
function keepIntents(item: string, ownStorage: WriteStorage | undefined) {
  const storage = (): WriteStorage => ownStorage ?? sessionStorage;
  /** Those that this write has noted, also without a storage. */
  const own: Record<Intent, string | undefined> = {};
  /** Anybody may have written the storage: what is no intent is left out. */
  const load = (): [Intent, unknown][] =>
    Object.entries({
      ...Object(parseJson(tryTo(() => storage().getItem(item)))),
      ...own,
    }).filter(([intent, owner]) => isIntent(intent) && owner !== undefined);
  return {
    /** One of a user, or of anybody. With a hash of variables, none that has other ones, as far as this page knows. */
    find(user?: string, id?: string): Intent | undefined {
      for (const [intent, stored] of load()) {
        const { variables = id, user: owner = user } = recall(intent);
        // A write whose user is not readable is not forgotten.
        const isOfUser = user === undefined || (textOf(stored) ?? owner) === user;
        if (isOfUser && (id ?? variables) === variables) return intent;
      }
      return undefined;
    },
    /** Notes the user of an open intent, or that it is not open any more. */
    set(intent: Intent, user?: string): void {
      own[intent] = user;
      const text = JSON.stringify(Object.fromEntries(load()));
      tryTo(() => (text === '{}' ? storage().removeItem(item) : storage().setItem(item, text)));
    },
  };
}
