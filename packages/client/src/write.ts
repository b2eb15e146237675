import { errorBody, isObject, lostBody, parseJson } from './answer.ts';
import { type AnyResult, type FieldResult, type LedgerError, readField } from './field-result.ts';
import type { Intent, Progress } from './intent.ts';
import { cancel, newIntent, note, recall } from './known-intent.ts';
import { type SettleOptions, settle } from './settle.ts';
import { type Caller, identify } from './token.ts';

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
  /** Calls `listener` after each change. The first call asks what became of a write that was open at a reload. */
  readonly subscribe: (listener: () => void) => () => void;
  /**
   * Sends a new write. While there is one of this user whose outcome is not known, it asks about that one instead.
   * Variables that cannot be obtained are not sent.
   */
  readonly submit: (variables: Variables | Promise<Variables>) => void;
  /** Stops sending, and asks what became of it, if it may have been sent. */
  readonly cancel: () => void;
  /** Asks again what became of it. */
  readonly askAgain: () => void;
  /** Unlocks the button: the user has seen the outcome, or, where `mayDismiss`, has checked in the ledger. */
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
export const createWrite = <Name extends string, Member extends Outcome, Variables = void>(
  options: WriteOptions<Name, Member, Variables>,
): Write<Member, Variables> => createLiveWrite(() => options);

/** Like `createWrite`, but its options may change, except for `field`, `name`, `url` and `storage`. */
export function createLiveWrite<Name extends string, Member extends Outcome, Variables>(
  getOptions: () => WriteOptions<Name, Member, Variables>,
): Write<Member, Variables> {
  type Data = Record<Name, Member>;
  const { url, field, name = field, storage } = getOptions();
  const kept = keepIntents(`${name} ${url}`, storage);
  const listeners = new Set<() => void>();
  let state: WriteState<Member> = { phase: kept.any() ? 'asking' : 'idle' };
  let isResumed = false;
  /** Changes with each click, and when a click is cancelled. */
  let click = 0;
  /** The write that the state is about. */
  let open: { intent: Intent; user: string } | undefined;

  function set(next: WriteState<Member>): void {
    state = next;
    for (const listener of listeners) {
      try {
        listener();
      } catch (error) {
        // A fault of a page may not change what is known of the write.
        globalThis.reportError?.(error);
      }
    }
  }

  function getCaller(): Promise<Caller | undefined> {
    const { headers = {}, ...options } = getOptions();
    return identify({ headers }, options);
  }

  async function submit(source: Variables | Promise<Variables>): Promise<void> {
    if (isLocked(state)) return;
    forget();
    click += 1;
    const own = click;
    set({ phase: 'sending', wait: undefined });
    const ready = await prepare(source).catch(() => undefined);
    if (own !== click) return;
    if (!ready) return set({ phase: 'idle' });
    const { variables, caller } = ready;
    if (!caller) return finish(errorBody('SIGN_IN_FAILED'), undefined);
    const { user } = caller;
    // A write that may have been sent before is not replaced.
    if (kept.get(user)) return ask();
    const intent = newIntent();
    kept.set(user, intent);
    open = { intent, user };
    let wasLost = false;
    recall(intent).onProgress = ({ state: now }) => {
      wasLost ||= now === 'lost';
      // That a later attempt was not sent says nothing about the lost one.
      const wait = wasLost && now === 'not-sent' ? 'lost' : now;
      if (open?.intent === intent && state.phase === 'sending') set({ phase: 'sending', wait });
    };
    const send = async () => getOptions().send({ 'idempotency-key': intent }, variables);
    const result = await send().catch((error: unknown) => {
      // It says nothing of the write, such as a fault of the app.
      if (read({ error }, intent).kind === 'lost') globalThis.reportError?.(error);
      return { error };
    });
    recall(intent).onProgress = undefined;
    finish(result, intent);
  }

  const prepare = async (source: Variables | Promise<Variables>) => ({
    variables: await source,
    caller: await getCaller(),
  });

  async function ask(): Promise<void> {
    const before = open;
    set({ phase: 'asking' });
    const caller = await getCaller();
    // The client had its result meanwhile.
    if (open !== before || !isLocked(state)) return;
    let intent = before?.intent ?? kept.any();
    if (caller && caller.user !== before?.user) {
      // The write of another user stays for its owner.
      intent = kept.get(caller.user);
      open = intent === undefined ? intent : { intent, user: caller.user };
    }
    if (intent === undefined) return set({ phase: 'idle' });
    if (!caller) return set(toState(read(lostBody(intent), intent)));
    note(intent, { user: caller.user });
    const settled = settle<Data>(intent, { ...getOptions(), url });
    finish(await settled.catch((error: unknown) => ({ error })), intent);
  }

  function read(result: object, intent: Intent | undefined): FieldResult<Member> {
    return readField<{ [Key in Name]?: Member }, Name>(result as AnyResult<Data>, field, intent);
  }

  function finish(result: object, intent: Intent | undefined): void {
    // Otherwise, it was asked about meanwhile.
    if (open?.intent !== intent || !isLocked(state)) return;
    const next = toState(read(result, intent));
    // What nobody has seen is asked about when the component is back.
    if (listeners.size > 0 && !isLocked(next)) forget();
    set(next);
  }

  function forget(): void {
    if (open) kept.remove(open.user, open.intent);
    open = undefined;
  }

  return {
    getState: () => state,
    subscribe(listener) {
      listeners.add(listener);
      if (!isResumed && !open && state.phase === 'asking') void ask();
      isResumed = true;
      return () => listeners.delete(listener);
    },
    submit: (variables) => void submit(variables),
    cancel() {
      if (state.phase !== 'sending') return;
      if (!open) {
        click += 1;
        finish(errorBody('CANCELLED'), undefined);
      }
      // The client may not have called `fetch` yet: to settle makes sure that it is not executed later.
      else if (cancel(open.intent)) set({ phase: 'asking' });
      else void ask();
    },
    askAgain: () => void (state.phase === 'unknown' && ask()),
    dismiss() {
      if (isLocked(state) && !(state.phase === 'unknown' && state.mayDismiss)) return;
      forget();
      set({ phase: 'idle' });
    },
  };
}

/** The state after a result. A member of a newer gateway whose name begins with `Ledger` is unknown. */
function toState<Member extends Outcome>(result: FieldResult<Member>): WriteState<Member> {
  if (result.kind === 'error') return { phase: 'failed', error: result.error };
  const unknown = (mayAsk: boolean, mayDismiss = !mayAsk) =>
    ({ phase: 'unknown', result, mayAsk, mayDismiss }) as const;
  if (result.kind !== 'member') return unknown(result.kind === 'lost');
  const { member } = result;
  const { __typename: name = 'Ledger', code } = member;
  const phase = refusals.has(name) ? 'refused' : 'done';
  // The types follow the same names.
  if (phase === 'refused' || !name.startsWith('Ledger')) {
    return { phase, member } as unknown as WriteState<Member>;
  }
  // It may stay orphaned.
  return code === 'ORPHANED' ? unknown(true, true) : unknown(code === 'IN_PROGRESS');
}

/** The open intents of a write, by user. A tab keeps them over a reload, if it has a storage with room. */
function keepIntents(name: string, own: WriteStorage | undefined) {
  const item = `ledger-gateway:write:${name}`;
  const storage = (): WriteStorage => own ?? sessionStorage;
  /** Those of this page, also without a storage. */
  const inPage = new Map<string, Intent>();
  function load(): Record<string, unknown> {
    try {
      const intents = parseJson(storage().getItem(item));
      return isObject(intents) ? intents : {};
    } catch {
      return {};
    }
  }
  function save(intents: Record<string, unknown>): void {
    try {
      if (Object.keys(intents).length > 0) storage().setItem(item, JSON.stringify(intents));
      else storage().removeItem(item);
    } catch {
      // Without a storage, or with a full one, the intent is known until the page is left.
    }
  }
  function get(user: string): Intent | undefined {
    const intent = load()[user];
    return typeof intent === 'string' ? intent : inPage.get(user);
  }
  return {
    get,
    /** One of them. */
    any: () => [...Object.keys(load()), ...inPage.keys()].map(get).find(Boolean),
    set(user: string, intent: Intent): void {
      inPage.set(user, intent);
      save({ ...load(), [user]: intent });
    },
    /** Another component may have stored one of its own. */
    remove(user: string, intent: Intent): void {
      if (inPage.get(user) === intent) inPage.delete(user);
      const { [user]: kept, ...others } = load();
      if (kept === intent) save(others);
    },
  };
}
