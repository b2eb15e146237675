import { tell } from './attempts.ts';
import { type AnyResult, type FieldResult, type LedgerError, readField } from './field-result.ts';
import { type Intent, isIntent, type Progress } from './intent.ts';
import { cancel, createIntent, listeners, note, page, recall, responseTo } from './known-intent.ts';
import { errorBody, lostBody, parseJson, textOf, tryTo } from './response.ts';
import { type SettleOptions, settle } from './settle.ts';
import { times } from './times.ts';
import { hash, identify } from './token.ts';

/** A member of the union that a mutation returns. The document must select `__typename`, and `code` of `LedgerOutcomeUnknown`. */
export type Outcome = { readonly __typename: string; readonly code?: unknown };

type RefusalName = 'LedgerFailed' | 'LedgerNotPermitted' | 'LedgerNoMoreInvoices';

/**
 * The members with one of these names. Some generators group members with the same fields, so that `__typename` is a union of
 * names. Without generated types, `__typename` is any string, and all members stay.
 */
type Named<Member, Names> = Member extends Outcome
  ? string extends Member['__typename']
    ? Member
    : Member['__typename'] extends Names
      ? Member
      : [Extract<Member['__typename'], Names>] extends [never]
        ? never
        : Member & { readonly __typename: Extract<Member['__typename'], Names> }
  : never;

/** The members for success. Relay adds `%other`. */
type DoneMember<Member extends Outcome> = Named<
  Member,
  Exclude<Member['__typename'], `Ledger${string}` | '%other'>
>;
type RefusedMember<Member extends Outcome> = Named<Member, RefusalName>;

/** The state of a write, for a page to show. */
export type WriteState<Member extends Outcome> =
  | { readonly phase: 'idle' }
  /** The write is being sent. `wait` says why that takes longer. */
  | { readonly phase: 'sending'; readonly wait?: Progress['state'] }
  /** The package asks for the outcome, without sending the write again. */
  | { readonly phase: 'asking' }
  | { readonly phase: 'done'; readonly member: DoneMember<Member> }
  /** The service refused the write. `member` says why. */
  | { readonly phase: 'refused'; readonly member: RefusedMember<Member> }
  /** The write did nothing. */
  | { readonly phase: 'failed'; readonly error: LedgerError }
  /** The write may have taken effect. */
  | {
      readonly phase: 'unknown';
      readonly result: FieldResult<Member>;
      /** Whether asking again may help: the gateway could not be asked, or may learn the outcome later. */
      readonly mayAsk: boolean;
      /** Whether the user may check in the ledger instead, and then call `dismiss`. */
      readonly mayDismiss: boolean;
    };

export type WriteStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem'>;

/** The data of a mutation that has this root field. It may have other ones. */
export type WriteData<Name extends string, Member> = {
  readonly [Key in Name]?: Member | null | undefined;
};

/** The result of a mutation with this root field, from any client. */
export type WriteResult<
  Name extends string,
  Member,
  Data extends WriteData<Name, Member> = WriteData<Name, Member>,
> = Omit<AnyResult<object>, 'data'> & { readonly data?: Data | null | undefined };

/** `Data` is the type of the data that the client returns, from which `createWrite` infers the members of the field. */
export type WriteOptions<
  Name extends string,
  Member,
  Variables,
  Data extends WriteData<Name, Member> = WriteData<Name, Member>,
> = SettleOptions & {
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
  ) => Promise<WriteResult<Name, Member, Data>>;
  /** Where the intent is kept over a reload. `sessionStorage` by default. */
  readonly storage?: WriteStorage | undefined;
};

export type Write<Member extends Outcome, Variables> = {
  readonly getState: () => WriteState<Member>;
  /**
   * Calls `listener` with the state after each change, and returns the function that ends this. A listener that has a
   * parameter is also called at once, as the stores of Svelte do. The first subscription asks for the outcome of an open
   * write, for example after a reload, or after another user has signed in.
   */
  readonly subscribe: (listener: (state: WriteState<Member>) => void) => () => void;
  /**
   * Sends a new write. If this user has a write whose outcome is not known, asks for that outcome instead, unless this page
   * sent that write with other variables. If the promise of `variables` rejects, nothing is sent.
   */
  readonly submit: (variables: Variables | Promise<Variables>) => void;
  /**
   * Stops sending. If the write may have been sent, asks for its outcome. Does nothing for `doubleClickMs` after `submit`:
   * the call may be the second click of a double click, if "Cancel" has appeared under the pointer.
   */
  readonly cancel: () => void;
  /** Asks again for the outcome. After a sign-in, shows the open write of the new user, if there is one. */
  readonly askAgain: () => void;
  /** Unlocks the button. Call it when the user has seen the outcome, or with `mayDismiss`, has checked in the ledger. */
  readonly dismiss: () => void;
};

/** The names of `RefusalName`. */
const refusals = /^Ledger(Failed|NotPermitted|NoMoreInvoices)$/;

/** How long a user needs to read an outcome, in milliseconds. */
const READ_MS = 1_000;

/** The state without a write. */
export const idle = { phase: 'idle' } as const;

/** Whether the button must stay locked. */
export const isLocked = ({ phase }: { readonly phase: WriteState<Outcome>['phase'] }): boolean =>
  phase === 'sending' || phase === 'asking' || phase === 'unknown';

/** Creates what one button needs: a lock, a storage for its intent, and one state to show. */
export const createWrite = <
  Name extends string,
  Member extends Outcome,
  Variables = void,
  Data extends WriteData<Name, Member> = WriteData<Name, Member>,
>(
  options: WriteOptions<Name, Member, Variables, Data>,
): Write<NonNullable<Data[Name]>, Variables> =>
  createLiveWrite<Name, NonNullable<Data[Name]>, Variables>(() => options);

/** Like `createWrite`, but its options may change, except for `field`, `name`, `url` and `storage`. */
export function createLiveWrite<Name extends string, Member extends Outcome, Variables>(
  getOptions: () => WriteOptions<Name, Member, Variables>,
): Write<Member, Variables> {
  type Data = Record<Name, Member>;
  type Open = { intent?: Intent | undefined; user?: string | undefined };
  const { url, field, name, storage } = getOptions();
  const item = `ledger-gateway:write:${name ?? field} ${url}`;
  let kept: ReturnType<typeof keepIntents>;
  /** The listeners of this write. */
  const own = new Set<(state: WriteState<Member>) => void>();
  let state: WriteState<Member>;
  /** The click or the question that the state belongs to. */
  let open: Open | undefined;
  /** When `submit` was called, in the time of `performance.now()`. */
  let submittedAt = 0;
  /** The outcome that a listener was called with last, and when. Its user may not have had time to read it. */
  let shown: (Open & { readonly at: number }) | undefined;
  let pageCount: number | undefined;

  /** Begins anew if the test of an app has begun another page. */
  function onPage(): WriteState<Member> {
    if (pageCount !== page.count) {
      pageCount = page.count;
      kept = keepIntents(item, storage);
      state = { phase: kept.find() ? 'asking' : 'idle' };
      open = undefined;
    }
    return state;
  }
  onPage();

  function set(next: WriteState<Member>): void {
    state = next;
    shown = undefined;
    // Without a listener, nobody has seen the outcome. The next component that subscribes asks for it.
    if (own.size > 0 && !isLocked(next)) {
      shown = { ...open, at: performance.now() };
      forget();
    }
    // A listener may submit the next write.
    tell(
      [...own].map((listener) => () => listener(state)),
      next,
    );
  }

  /** Keeps the intent of an outcome that was shown only for a moment before its user has signed out. */
  async function keepUnread(): Promise<void> {
    const of = shown;
    // Without a JWT, another user looks like this one.
    if (of?.intent && of.user && performance.now() - of.at < READ_MS) {
      const { user } = await getCaller();
      if (user !== of.user && shown === of) kept.set(of.intent, of.user);
    }
  }

  function getCaller() {
    return identify(getOptions(), getOptions());
  }

  // biome-ignore lint/complexity/noExcessiveCognitiveComplexity: with more functions, the package exceeded its size limit.
  async function submit(source: Variables | Promise<Variables>): Promise<void> {
    if (isLocked(onPage())) return;
    submittedAt = performance.now();
    forget();
    const sent: Open = {};
    open = sent;
    set({ phase: 'sending' });
    const [variables, caller] = await Promise.all([source, getCaller()]).catch(() => []);
    if (open !== sent) return;
    if (!caller) return set(idle);
    const { user, rejection } = caller;
    if (rejection) return set(toState(read(errorBody(rejection))));
    const id = tryTo(() => hash(JSON.stringify(variables)));
    // A write that may have been sent is not replaced by a new one. With other variables, it is another write.
    const before = kept.find(user, id);
    if (before) return ask({ intent: before, user });
    const intent = createIntent(name ?? '');
    // The write is sent only for the user who clicked. Without a token or headers, that user is not known yet.
    note(intent, { variables: id, user: user || undefined });
    kept.set(intent, user);
    sent.intent = intent;
    sent.user = user;
    const listener = ({ intent: sentAs, state: wait }: Progress) => {
      if (open === sent && state.phase === 'sending' && recall(intent).sentAs === sentAs) {
        set({ phase: 'sending', wait });
      }
    };
    listeners.add(listener);
    const send = async () => getOptions().send({ 'idempotency-key': intent }, variables);
    let result: AnyResult<Data> = Object(await send().catch((error: unknown) => ({ error })));
    if (!('member' in toState(read(result)))) {
      const { error } = result;
      // Only the response says that nothing was done. The error may be that of another request, or a fault of the app. A client
      // with masked fragments hides the code of an unknown outcome.
      result = (await (await responseTo(intent))?.json()) ?? result;
      if (error && !result.errors) globalThis.reportError?.(error);
    }
    listeners.delete(listener);
    return finish(sent, result);
  }

  async function ask(before: Open = open ?? {}): Promise<void> {
    open = before;
    set({ phase: 'asking' });
    const { user = before.user, rejection } = await getCaller();
    // Meanwhile the client has received the result.
    if (open !== before || !isLocked(state)) return;
    // The write of another user stays stored for that user.
    if (!before.intent || user !== before.user) open = { intent: kept.find(user), user };
    const { intent } = open;
    if (!intent) return set(idle);
    if (rejection) return set(toState(read(lostBody(intent, rejection))));
    note(intent, { user });
    const settled = settle<Data>(intent, { ...getOptions(), url });
    return finish(open, await settled.catch((error: unknown) => ({ error })), true);
  }

  function read(result: object, intent?: Intent): FieldResult<Member> {
    return readField<{ [Key in Name]?: Member }, Name>(result as AnyResult<Data>, field, intent);
  }

  /** Shows a result only to its user. For another user, keeps the intent, and asks for the open write of that other user. */
  async function finish(of: Open, result: object, wasAsked = false): Promise<void> {
    const said = read(result, of.intent);
    // The user who cancels is present, even if no token can be obtained.
    const { user } = said.error?.code === 'CANCELLED' ? of : await getCaller();
    // Otherwise, the outcome has been asked for meanwhile.
    if (open !== of || !isLocked(state)) return;
    if (said.kind === 'lost') {
      // If the client has not sent the header, the write has another key.
      forget();
      of.intent = said.intent;
      open = of;
      kept.set(said.intent, of.user);
    }
    return user === of.user ? set(toState(said, wasAsked)) : ask();
  }

  function forget(): void {
    if (open?.intent) kept.set(open.intent);
    open = undefined;
  }

  return {
    getState: onPage,
    subscribe(listener) {
      onPage();
      own.add(listener);
      // In version 1.0, listeners had no parameter, and were not called at once.
      if (listener.length > 0) tell([listener], state);
      // While there was no listener, another user may have signed in.
      const mayBeOther = () => own.size === 1 && state.phase !== 'sending' && kept.find();
      if (state.phase === 'asking' ? !open : mayBeOther()) void ask();
      return () => {
        own.delete(listener);
        if (own.size === 0) void keepUnread();
      };
    },
    submit,
    cancel() {
      const { doubleClickMs = times.doubleClickMs } = getOptions();
      const isDoubleClick = performance.now() - submittedAt < doubleClickMs;
      if (state.phase !== 'sending' || isDoubleClick) return;
      if (!open?.intent) {
        forget();
        set(toState(read(errorBody('CANCELLED'))));
      }
      // The client may not have called `fetch` yet. Settling ensures that the write is not executed later.
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

/**
 * The state after a result, or after the answer to the question for it. A member that this package does not know is `unknown` if
 * its name begins with `Ledger`.
 */
function toState<Member extends Outcome>(
  result: FieldResult<Member>,
  wasAsked = false,
): WriteState<Member> {
  if (result.kind === 'error') return { phase: 'failed', error: result.error };
  const { __typename: name = 'Ledger', code } = result.member ?? {};
  const isRefused = refusals.test(name);
  // `DoneMember` and `RefusedMember` distinguish the same names.
  if (isRefused || !/^Ledger/.test(name)) {
    const phase = isRefused ? 'refused' : 'done';
    return { phase, member: result.member } as unknown as WriteState<Member>;
  }
  const isOrphaned = code === 'ORPHANED';
  // The gateway rejects the question itself, such as one whose document is not in its manifest.
  const { reason } = result.error ?? {};
  const isRejected = /^GRAPHQL_|_NOT_IN_|BAD_USER_INPUT/.test(`${reason}`);
  // The gateway calls a write orphaned only when its time is over. So the user is asked to check if the next answer is the same.
  const mayAsk =
    (isOrphaned && !wasAsked) || code === 'IN_PROGRESS' || (result.kind === 'lost' && !isRejected);
  return {
    phase: 'unknown',
    result,
    mayAsk,
    mayDismiss: isOrphaned || !mayAsk || reason === 'KEY_NOT_CONFIRMED',
  };
}

/** Keeps the open intents of a write with their users, also over a reload if the tab has a storage with free space. */
function keepIntents(item: string, ownStorage: WriteStorage | undefined) {
  const storage = (): WriteStorage => ownStorage ?? sessionStorage;
  /** The intents that this page has noted. They are known even without a storage. */
  const own: Record<Intent, string | undefined> = {};
  /** Leaves out what is no intent, because other code of the page may have written to the storage. */
  const load = (): [Intent, unknown][] =>
    Object.entries({
      ...Object(parseJson(tryTo(() => storage().getItem(item)))),
      ...own,
    }).filter(([intent, owner]) => isIntent(intent) && owner !== undefined);
  return {
    /** Finds an open intent of a user, or of any user. With a hash of variables, skips intents that are known to have others. */
    find(user?: string, id?: string): Intent | undefined {
      for (const [intent, stored] of load()) {
        const { variables = id, user: owner = user } = recall(intent);
        // If the stored user is not readable, the intent may be that of this user.
        const isOfUser = user === undefined || (textOf(stored) ?? owner) === user;
        if (isOfUser && (id ?? variables) === variables) return intent;
      }
      return undefined;
    },
    /** Stores the user of an open intent. Without a user, the intent is not open any more. */
    set(intent: Intent, user?: string): void {
      own[intent] = user;
      const text = JSON.stringify(Object.fromEntries(load()));
      tryTo(() => (text === '{}' ? storage().removeItem(item) : storage().setItem(item, text)));
    },
  };
}
