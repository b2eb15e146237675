import { describe, expect, test } from '@jest/globals';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { until } from '../../../testkit/eventually.ts';
import {
  type AnyResult,
  createLedgerFetch,
  createWrite,
  isLocked,
  type WriteOptions,
  type WriteState,
} from '../src/index.ts';
import { arriving } from '../src/known-intent.ts';
import {
  createStorage,
  cut,
  type Data,
  executed,
  fieldError,
  hold,
  init,
  json,
  member,
  never,
  notExecuted,
  type Reply,
  replace,
  requestError,
  saved,
  settled,
  startStubGateway,
  tokenOf,
  unknown,
} from './stub-gateway.ts';

/** Where the package runs. Node has no `reportError`. */
declare const native: typeof globalThis;

type Options = Partial<WriteOptions<'save', Data['save'], unknown>> & {
  /** The client of the page. By default, each button has one of its own. */
  readonly ledgerFetch?: typeof fetch;
};

const soon = { delayMs: 2, patienceMs: 50, attemptMs: 1_000, doubleClickMs: 0 };

/** Collects the errors that the package reports, until the test ends. */
function collectReports(): unknown[] {
  const reports: unknown[] = [];
  Object.assign(native, { reportError: (error: unknown) => reports.push(error) });
  closeAfterTest(() => Reflect.deleteProperty(native, 'reportError'));
  return reports;
}

/** Starts a gateway, and the pages of one tab. */
async function start(replies: Reply[], settling: Reply = notExecuted, storage = createStorage()) {
  const gateway = await startStubGateway(replies, settling);
  const url = gateway.origin;

  /** Opens a page with one button. */
  function open(user = 'ada', options: Options = {}) {
    const token = () => tokenOf(user);
    const ledger = { url, token, ...soon, ...options };
    const ledgerFetch = options.ledgerFetch ?? createLedgerFetch(ledger);
    const write = createWrite<'save', Data['save'], unknown>({
      field: 'save',
      storage,
      async send(headers, name): Promise<AnyResult<Data>> {
        const body = JSON.stringify({ query: 'mutation { save }', variables: { name: `${name}` } });
        return (await ledgerFetch(url, { method: 'POST', headers, body })).json();
      },
      ...ledger,
    });
    const phases: string[] = [];
    const waits: string[] = [];
    /** Shows the write, until it ends. */
    const ended = () =>
      new Promise<ReturnType<typeof write.getState>>((resolve) => {
        const look = () => {
          const state = write.getState();
          if (phases.at(-1) !== state.phase) phases.push(state.phase);
          if (state.phase === 'sending' && state.wait) waits.push(state.wait);
          if (state.phase === 'sending' || state.phase === 'asking') return;
          unsubscribe();
          resolve(state);
        };
        const unsubscribe = write.subscribe(look);
        queueMicrotask(look);
      });
    return {
      ...write,
      phases,
      waits,
      ended,
      click(variables: unknown = 'Ada') {
        write.submit(variables);
        return ended();
      },
      ask() {
        write.askAgain();
        return ended();
      },
      /** Waits for the end of a write that no component shows. */
      endedUnseen: () => until(() => write.getState().phase === 'done'),
    };
  }
  return { ...gateway, storage, open };
}

/** The state of a write whose response was lost. */
const lost = { phase: 'unknown', mayAsk: true };
const done = { phase: 'done' };
const idle = { phase: 'idle' };

/** Without a connection, no request gets a response. So there is no token if it has to be fetched. */
function goOffline() {
  const navigator = { onLine: false };
  replace(native, 'navigator', navigator);
  const connect = () => {
    if (!navigator.onLine) throw new TypeError('Failed to fetch');
  };
  return {
    navigator,
    async token() {
      connect();
      return tokenOf('ada');
    },
    async fetch(...request: Parameters<typeof fetch>) {
      connect();
      return fetch(...request);
    },
  };
}

test('a click without a connection says so, even if the token has to be fetched', async () => {
  const { open, kinds } = await start([saved]);
  const { token, fetch } = goOffline();
  const write = open('ada', { token, fetch });
  expect(await write.click()).toMatchObject({ phase: 'failed', error: { code: 'OFFLINE' } });
  expect(kinds()).toEqual([]);
});

test('if the user is not known without a connection, the write is unknown until it can be asked about', async () => {
  const { open, kinds } = await start([saved]);
  const { navigator, token, fetch } = goOffline();
  navigator.onLine = true;
  const write = open('ada', {
    fetch,
    token() {
      const ofUser = token();
      // The connection breaks right after the click, and is back when the user asks.
      navigator.onLine = write.phases.includes('unknown');
      return ofUser;
    },
  });
  expect(await write.click()).toMatchObject({ ...lost, result: { error: { reason: 'OFFLINE' } } });
  navigator.onLine = true;
  expect(await write.ask()).toMatchObject(settledError);
  expect(kinds()).toEqual(['settle']);
});

test('if a router hides each error, the user may ask again, or check in the ledger', async () => {
  const hidden = json({ errors: [{ message: 'Subgraph errors redacted' }], data: null });
  const { open, origin, script } = await start([hidden], hidden);
  script.probing = hidden;
  arriving.delete(origin);
  expect(await open('ada').click()).toMatchObject({
    phase: 'unknown',
    mayAsk: true,
    mayDismiss: true,
  });
});

test('a stopped write has failed with the reason as its message, is sent once, and may be submitted again', async () => {
  const message = 'Month-end closing until 18:00.';
  const stopped = fieldError('OPERATION_STOPPED', {}, { message });
  const { open, kinds, storage } = await start([stopped, saved]);
  const write = open();
  expect(await write.click()).toMatchObject({
    phase: 'failed',
    error: { code: 'OPERATION_STOPPED', message },
  });
  expect([kinds(), storage.items.size]).toEqual([['mutation'], 0]);
  expect(await write.click()).toMatchObject(done);
});

test('a write that is limited is not repeated before Retry-After: it has failed if that is too long', async () => {
  const limitedFor = (seconds: string) =>
    fieldError('RATE_LIMITED', { retryable: true }, {}, { 'retry-after': seconds });
  const long = await start([limitedFor('30')]);
  expect(await long.open().click()).toMatchObject({
    phase: 'failed',
    error: { code: 'RATE_LIMITED' },
  });
  expect(long.kinds()).toEqual(['mutation']);

  const short = await start([limitedFor('1'), saved]);
  const write = short.open('ada', { patienceMs: 20_000 });
  expect(await write.click()).toMatchObject(done);
  expect([short.kinds(), write.waits]).toEqual([['mutation', 'mutation'], ['not-sent']]);
});

test.each<[string, Reply, unknown]>([
  ['done', saved, { member: { __typename: 'ApproversSaved' } }],
  ['refused', member({ __typename: 'LedgerFailed' }), { member: { __typename: 'LedgerFailed' } }],
  ['failed', fieldError('FORBIDDEN'), { error: { code: 'FORBIDDEN' } }],
  ['unknown', member({ __typename: 'LedgerUnrecognizedStatus' }), { mayAsk: false }],
  ['unknown', member({ __typename: 'LedgerOfNewerGateway' }), { mayAsk: false }],
  ['unknown', unknown('ORPHANED'), { mayAsk: true, mayDismiss: true }],
])('a write ends as %s', async (phase, reply, state) => {
  const { open, kinds, storage } = await start([reply]);
  const write = open();
  const ended = write.ended();
  write.submit('Ada');
  // The button is locked at once.
  expect(isLocked(write.getState())).toBe(true);
  write.submit('Ada');

  expect(await ended).toMatchObject({ phase, ...(state as object) });
  expect(kinds()).toEqual(['mutation']);

  write.dismiss();
  expect(write.getState()).toEqual(idle);
  expect(storage.items.size).toBe(0);
});

/** What a page finds in which the response to a write was lost that was executed. */
async function startLost(options: Options = {}, storage = createStorage()) {
  const page = await start([cut], cut, storage);
  const write = page.open('ada', options);
  expect(await write.click()).toMatchObject(lost);
  page.script.settling = executed;
  page.requests.length = 0;
  return { ...page, write };
}

const inProgress = { __typename: 'LedgerOutcomeUnknown', code: 'IN_PROGRESS' };

test.each([
  ['lost', cut],
  ['in progress', settled([{ responseName: 'save', outcome: inProgress }])],
])('what is %s stays locked until it was asked about', async (_, settling) => {
  const { open, script, requests, kinds, storage } = await start([cut], settling);
  const write = open();
  const state = await write.click();
  expect(state).toMatchObject({ ...lost, mayDismiss: false });
  script.settling = executed;
  requests.length = 0;
  write.dismiss();
  write.submit('Ada');
  expect(write.getState()).toBe(state);
  expect(await write.ask()).toMatchObject(done);
  expect(kinds()).toEqual(['settle']);
  expect(storage.items.size).toBe(0);
});

test('asking again about an orphaned write may help once', async () => {
  const orphaned = settled([
    { responseName: 'save', outcome: { __typename: 'LedgerOutcomeUnknown', code: 'ORPHANED' } },
  ]);
  const { open, script } = await start([unknown('ORPHANED')], orphaned);
  const write = open();
  expect(await write.click()).toMatchObject({ mayAsk: true, mayDismiss: true });
  expect(await write.ask()).toMatchObject({ phase: 'unknown', mayAsk: false, mayDismiss: true });
  // The outcome may still be recorded, and then a reload shows it.
  script.settling = executed;
  expect(await open().ended()).toMatchObject(done);
});

test.each([
  'GRAPHQL_VALIDATION_FAILED',
  'QUERY_NOT_IN_SAFELIST',
  'PERSISTED_QUERY_NOT_IN_LIST',
  'BAD_USER_INPUT',
])('asking again does not help if the gateway rejects the question with %s', async (code) => {
  const { open } = await start([cut], requestError(code, {}, 400));
  const result = { error: { reason: code } };
  const state = { phase: 'unknown', result, mayAsk: false, mayDismiss: true };
  expect(await open().click()).toMatchObject(state);
});

test('a page that was left asks for its user alone', async () => {
  const { open, kinds, storage } = await startLost();

  const ofBob = open('bob');
  expect(ofBob.getState().phase).toBe('asking');
  expect(await ofBob.ended()).toEqual(idle);
  expect(kinds()).toEqual([]);

  expect(await open().ended()).toMatchObject(done);
  expect(kinds()).toEqual(['settle']);
  expect(storage.items.size).toBe(0);
  expect(open().getState()).toEqual(idle);
});

test('a reload while no token can be had keeps the write, and its intent', async () => {
  const { open, kinds, storage } = await startLost();
  const stored = [...storage.items];

  let user: string | undefined;
  const token = () => {
    if (user === undefined) throw new Error('Nobody is signed in.');
    return tokenOf(user);
  };
  const reloaded = open('ada', { token });
  expect(await reloaded.ended()).toMatchObject(lost);
  reloaded.dismiss();
  reloaded.submit('Ada');
  expect(await reloaded.ask()).toMatchObject(lost);
  expect([...storage.items]).toEqual(stored);
  expect(kinds()).toEqual([]);

  user = 'ada';
  expect(await reloaded.ask()).toMatchObject(done);
  expect(kinds()).toEqual(['settle']);
});

const fullStorage = {
  ...createStorage(),
  setItem() {
    throw new Error('QuotaExceededError');
  },
};

test.each([
  ['in the storage', createStorage()],
  ['with a full storage', fullStorage],
])(
  'a write of one user does not lock that of another on the same page, and stays %s',
  async (_, storage) => {
    let user = 'ada';
    const { write, script, kinds } = await startLost({ token: () => tokenOf(user) }, storage);
    user = 'bob';
    expect(await write.ask()).toEqual(idle);
    script.replies = [saved];
    expect(await write.click()).toMatchObject(done);

    // Her next click does not send it again.
    user = 'ada';
    expect(await write.click()).toMatchObject(done);
    expect(kinds()).toEqual(['mutation', 'settle']);
    expect(await write.click()).toMatchObject(done);
    expect(kinds()).toEqual(['mutation', 'settle', 'mutation']);
    expect(storage.items.size).toBe(0);
  },
);

test('two writes of one field keep their intents by their names, and those of two gateways', async () => {
  const { open, script, requests, kinds, storage } = await startLost({ name: 'row-1' });
  script.replies = [saved];
  expect(await open('ada', { name: 'row-2' }).click()).toMatchObject(done);
  const elsewhere = { name: 'row-1', url: 'http://127.0.0.1:1/graphql' };
  expect(open('ada', elsewhere).getState()).toEqual(idle);
  expect(storage.items.size).toBe(1);

  requests.length = 0;
  expect(await open('ada', { name: 'row-1' }).ended()).toMatchObject(done);
  expect(kinds()).toEqual(['settle']);
});

test('two writes of one name do not remove the intent of each other', async () => {
  const page = await start([cut], cut);
  const [write, other] = [page.open(), page.open()];
  await write.click();
  const stored = [...page.storage.items];
  Object.assign(page.script, { replies: [saved], settling: executed });
  // It asks about what may have been sent.
  expect(await other.click()).toMatchObject(done);
  const ended = other.click('Bob');
  expect(other.getState().phase).toBe('sending');
  expect(await write.ask()).toMatchObject(done);
  expect(await ended).toMatchObject(done);
  expect([...page.storage.items]).not.toEqual(stored);
});

test('another form without a name sends a write with other variables as its own', async () => {
  const page = await start([cut], cut);
  const [write, other] = [page.open(), page.open()];
  expect(await write.click()).toMatchObject(lost);
  const [key] = page.keys();
  page.script.replies = [saved];
  page.requests.length = 0;
  expect(await other.click('Bob')).toMatchObject(done);
  other.dismiss();
  expect(other.getState()).toEqual(idle);
  expect(page.kinds()).toEqual(['mutation']);
  expect(page.keys()).not.toContain(key);

  // The first one is open still, also after a reload.
  page.script.settling = executed;
  page.requests.length = 0;
  expect(write.getState().phase).toBe('unknown');
  expect(await page.open().ended()).toMatchObject(done);
  expect(page.keys()).toEqual([key]);
});

test('a listener hears the latest state if another one submits the next write at once', async () => {
  const { open } = await start([saved, cut], cut);
  const write = open();
  let heard: WriteState<Data['save']> | undefined;
  let isFirst = true;
  write.subscribe((state) => {
    if (state.phase === 'done' && isFirst) {
      isFirst = false;
      write.submit('Bob');
    }
  });
  write.subscribe((state) => {
    heard = state;
  });
  write.submit('Ada');
  await until(() => !isFirst);
  expect(heard).toEqual({ phase: 'sending' });
  expect(await write.ended()).toMatchObject(lost);
});

test('variables that have no text do not stop a write', async () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const { open } = await start([saved]);
  expect(await open().click(circular)).toMatchObject(done);
});

test('a listener that fails neither unlocks a lost write nor hides its state from others', async () => {
  const { open, requests, kinds } = await start([cut], cut);
  const reports = collectReports();
  const write = open();
  const fault = new Error('A fault of the page.');
  write.subscribe(() => {
    if (write.getState().phase === 'unknown') throw fault;
  });
  expect(await write.click()).toMatchObject(lost);
  expect(reports).toEqual([fault]);
  requests.length = 0;
  write.submit('Ada');
  expect(write.getState().phase).toBe('unknown');
  expect(kinds()).toEqual([]);
});

test('a client that drops the key of a write does not lead to the answer for a key that was not sent', async () => {
  const { open, script, origin, keys, storage } = await start([cut], cut);
  const ledgerFetch = createLedgerFetch({ ...soon, token: () => tokenOf('ada') });
  const body = '{"query":"mutation { save }"}';
  const write = open('ada', {
    send: async () => (await ledgerFetch(origin, { method: 'POST', body })).json(),
  });
  expect(await write.click()).toMatchObject(lost);
  // A reload asks about the same one.
  const reloaded = open('ada', { storage: createStorage(new Map(storage.items)) });
  script.settling = executed;
  expect(await write.ask()).toMatchObject(done);
  expect(await reloaded.ended()).toMatchObject(done);
  expect(new Set(keys()).size).toBe(1);
  expect(storage.items.size).toBe(0);
});

test('a client that fails after it has sent leaves the outcome open', async () => {
  const { open } = await start([], executed);
  const reports = collectReports();
  const fault = new Error('A fault of the app.');
  const send = () => {
    throw fault;
  };
  const write = open('ada', { send });
  expect(await write.click()).toMatchObject(lost);
  expect(await write.ask()).toMatchObject(done);
  expect(write.phases).toEqual(['sending', 'unknown', 'asking', 'done']);
  expect(reports).toEqual([fault]);
});

test.each<[string, unknown]>([
  ['an AggregateError', new AggregateError([new TypeError('Failed to fetch')])],
  ['an error of a schema library', { errors: [{ path: ['save', 'code'], message: 'Required' }] }],
])('%s that the app throws after it has sent leaves the outcome open', async (_, fault) => {
  const { open } = await start([], executed);
  const reports = collectReports();
  const write = open('ada', { send: () => Promise.reject(fault) });
  expect(await write.click()).toMatchObject(lost);
  expect(await write.ask()).toMatchObject(done);
  expect(reports).toEqual([fault]);
});

/** What a client may throw after a write: the error of a query that it sends next, such as one of `awaitRefetchQueries`. */
const errorOfQuery = {
  errors: [{ message: '', extensions: { code: 'OVERLOADED', requestId: '7' } }],
};

test.each<[string, () => unknown]>([
  ['throws the error of another request', () => Promise.reject(errorOfQuery)],
  // As Apollo Client does with `errorPolicy: 'all'`.
  ['returns the error of another request', () => ({ error: errorOfQuery })],
])('a client that %s after a write does not hide what became of it', async (_, end) => {
  const { open, kinds, origin } = await start([saved]);
  const reports = collectReports();
  const ledgerFetch = createLedgerFetch({ token: () => tokenOf('ada') });
  const write = open('ada', {
    async send(headers) {
      await ledgerFetch(origin, init({}, headers));
      return (await end()) as AnyResult<Data>;
    },
  });
  expect(await write.click()).toMatchObject(done);
  expect(kinds()).toEqual(['mutation']);
  expect(reports).toEqual([errorOfQuery]);
});

test('a client that masks the fields of a member does not hide that the write is in progress', async () => {
  const answer = settled([{ responseName: 'save', outcome: inProgress }]);
  const { open, origin } = await start([unknown('IN_PROGRESS')], answer);
  const ledgerFetch = createLedgerFetch({ ...soon, token: () => tokenOf('ada') });
  const write = open('ada', {
    async send(headers) {
      const { data } = await (await ledgerFetch(origin, init({}, headers))).json();
      const { __typename } = data.save;
      return { data: { save: { __typename } } };
    },
  });
  // With "I have checked", the user could do it a second time.
  expect(await write.click()).toMatchObject({ phase: 'unknown', mayAsk: true, mayDismiss: false });
});

test('a client that returns nothing does not hide what became of the write', async () => {
  const { open, origin } = await start([saved]);
  const ledgerFetch = createLedgerFetch({ token: () => tokenOf('ada') });
  const send = async (headers: object) => {
    await ledgerFetch(origin, init({}, headers));
    return undefined as unknown as AnyResult<Data>;
  };
  expect(await open('ada', { send }).click()).toMatchObject(done);
});

test.each<[string, Reply]>([
  ['RESPONSE_LOST', cut],
  ['OUTCOME_UNKNOWN', settled([], false)],
])('an error of a client that says %s is no fault of the app', async (_, settling) => {
  const { open, origin } = await start([cut], settling);
  const reports = collectReports();
  const ledgerFetch = createLedgerFetch({ ...soon, token: () => tokenOf('ada') });
  const send = async (headers: object) => {
    const response = await ledgerFetch(origin, init({}, headers));
    // As graphql-request does.
    return Promise.reject({ response: await response.json() });
  };
  expect(await open('ada', { send }).click()).toMatchObject({ phase: 'unknown' });
  expect(reports).toEqual([]);
});

test('a signal that aborts leaves the outcome open', async () => {
  const controller = new AbortController();
  const { write } = await startLost({ signal: controller.signal });
  controller.abort();
  expect(await write.ask()).toMatchObject(lost);
});

const noToken = () => new Promise<string>(() => {});
const cancelled = { phase: 'failed', error: { code: 'CANCELLED' } };

test.each([
  ['its token', 1, 'Ada'],
  ['the token of its client', 2, 'Ada'],
  ['the variables', 0, new Promise<string>(() => {})],
])('cancel ends a write at once that waits for %s, and sends nothing', async (...row) => {
  const [, missing, variables] = row;
  const { open, kinds, storage } = await start([saved]);
  let asked = 0;
  const late = Promise.withResolvers<string>();
  closeAfterTest(() => late.resolve(''));
  const token = () => (++asked === missing ? late.promise : tokenOf('ada'));
  const write = open('ada', { token, attemptMs: 60_000 });
  const ended = write.click(variables);
  await until(() => asked >= missing);
  write.cancel();
  expect(await ended).toMatchObject(cancelled);
  expect(kinds()).toEqual([]);
  expect(storage.items.size).toBe(0);
});

test('a page that is left before the token arrives has sent nothing, and then shows nothing', async () => {
  const { open, kinds } = await start([saved]);
  const left = open('ada', { token: noToken });
  left.submit('Ada');
  expect(left.getState().phase).toBe('sending');
  expect(open().getState()).toEqual(idle);
  expect(kinds()).toEqual([]);
});

test('a click that was cancelled before it was sent is not sent after the next one', async () => {
  const { open, kinds } = await start([saved]);
  const tokens: ((token: string) => void)[] = [];
  let isSlow = true;
  const token = () =>
    isSlow ? new Promise<string>((resolve) => tokens.push(resolve)) : tokenOf('ada');
  const write = open('ada', { token });
  write.submit('first');
  await until(() => tokens.length > 0);
  write.cancel();
  isSlow = false;
  const ended = write.click('second');
  for (const resolve of tokens) resolve(tokenOf('ada'));
  expect(await ended).toMatchObject(done);
  expect(kinds()).toEqual(['mutation']);
});

const isGone = () => Promise.reject(new Error('It is gone.'));
test.each<[string, Options, () => unknown, object]>([
  [
    'a token',
    { token: isGone },
    () => 'Ada',
    { phase: 'failed', error: { code: 'SIGN_IN_FAILED' } },
  ],
  ['its variables', {}, isGone, idle],
])('without %s, nothing is sent', async (_, options, variables, state) => {
  const { open, kinds, storage } = await start([saved]);
  expect(await open('ada', options).click(variables())).toMatchObject(state);
  expect(kinds()).toEqual([]);
  expect(storage.items.size).toBe(0);
});

const settledError = { phase: 'failed', error: { code: 'IDEMPOTENCY_KEY_SETTLED' } };

test('a click is not sent as another user, who signs in before it is sent', async () => {
  const { open, kinds } = await start([saved]);
  const tokens = [tokenOf('ada')];
  const write = open('ada', { token: () => tokens.pop() ?? tokenOf('bob') });
  // What became of it is told to Ada alone.
  expect(await write.click()).toEqual(idle);
  expect(kinds()).toEqual([]);
  expect(await open().ended()).toMatchObject(settledError);
  expect(kinds()).toEqual(['settle']);
});

/** A page that stays open while another user signs in, before a response arrives. */
async function startShared(next: string | undefined, reply = saved) {
  let user: string | undefined = 'ada';
  const page = await start([], executed);
  const token = () => {
    if (user === undefined) throw new Error('Nobody is signed in.');
    return tokenOf(user);
  };
  const signIn = (name: string | undefined) => {
    user = name;
  };
  /** The next replies, before which this user signs in. */
  const signInBefore = (name: string | undefined, reply: Reply) => {
    page.script.replies = [
      (response) => {
        signIn(name);
        reply(response);
      },
    ];
  };
  signInBefore(next, reply);
  const openShared = () => page.open('ada', { token });
  return { ...page, signIn, signInBefore, openShared, write: openShared() };
}

test.each([
  ['done', saved],
  ['refused', member({ __typename: 'LedgerFailed' })],
  ['failed', fieldError('FORBIDDEN')],
  ['unknown', unknown('ORPHANED')],
])('a write that ends as %s for another user is told to its owner alone', async (_, reply) => {
  const { write, signIn, kinds, storage } = await startShared('bob', reply);
  expect(await write.click()).toEqual(idle);
  expect(write.phases).toEqual(['sending', 'asking', 'idle']);
  expect(storage.items.size).toBe(1);

  // A component that is shown again asks who is there.
  expect(await write.ended()).toEqual(idle);
  signIn('ada');
  expect(await write.ended()).toMatchObject(done);
  expect(kinds()).toEqual(['mutation', 'settle']);
  expect(storage.items.size).toBe(0);
});

test('another user who is back hears of the own write', async () => {
  const { write, signIn, signInBefore, ...page } = await startShared('ada', cut);
  signIn('bob');
  page.script.settling = cut;
  expect(await write.click('Bob')).toEqual(idle);
  const [key] = page.keys();

  signInBefore('bob', saved);
  page.script.settling = executed;
  page.requests.length = 0;
  expect(await write.click()).toMatchObject(done);
  expect(page.kinds()).toEqual(['mutation', 'settle']);
  expect(page.keys()[1]).toBe(key);

  signIn('ada');
  expect(await write.click()).toMatchObject(done);
  expect(page.keys()[2]).toBe(page.keys()[0]);
  expect(page.storage.items.size).toBe(0);
});

test('an outcome that arrives while nobody is signed in is told after the sign-in', async () => {
  const { write, signIn, kinds, storage } = await startShared(undefined);
  const result = { error: { reason: 'SIGN_IN_FAILED' } };
  expect(await write.click()).toMatchObject({ ...lost, mayDismiss: false, result });
  signIn('bob');
  expect(await write.ask()).toEqual(idle);
  signIn('ada');
  expect(await write.ask()).toMatchObject(done);
  expect(kinds()).toEqual(['mutation', 'settle']);
  expect(storage.items.size).toBe(0);
});

test('after another user has signed in, a click is that of this user, and "Ask again" clears what was said', async () => {
  const { write, signIn, kinds, keys } = await startShared('ada');
  expect(await write.click()).toMatchObject(done);
  signIn('bob');
  expect(await write.ask()).toEqual(idle);
  signIn('ada');
  expect(await write.click()).toMatchObject(done);
  expect(kinds()).toEqual(['mutation', 'mutation']);
  expect(new Set(keys()).size).toBe(2);
});

test('an outcome that nobody has seen is not told to another user, and stays for its owner', async () => {
  const { write, signIn, script, kinds, open } = await startShared('ada');
  write.submit('Ada');
  await write.endedUnseen();
  signIn('bob');
  script.replies = [saved];
  expect(await write.ended()).toEqual(idle);
  expect(await write.click()).toMatchObject(done);
  expect(await open().ended()).toMatchObject(done);
  expect(kinds()).toEqual(['mutation', 'mutation', 'settle']);
});

test.each(['the next one', 'the same one, later'])(
  'an outcome that no component has seen is told to %s, and not again',
  async (which) => {
    const { open } = await start([saved], executed);
    const unmounted = open();
    unmounted.submit('Ada');
    await unmounted.endedUnseen();
    const write = which === 'the next one' ? open() : unmounted;
    expect(await write.ended()).toMatchObject(done);
    write.dismiss();
    expect(open().getState()).toEqual(idle);
  },
);

describe('an outcome that was shown', () => {
  /** Shows an outcome, and hides it after this time. Nobody is signed in by then, or this user is. */
  async function show(user: string | undefined, forMs: number) {
    const page = await startShared('ada');
    const unsubscribe = page.write.subscribe(() => {});
    page.write.submit('Ada');
    await page.write.endedUnseen();
    const hiddenAt = performance.now() + forMs;
    replace(performance, 'now', () => hiddenAt);
    page.signIn(user);
    unsubscribe();
    page.signIn('bob');
    expect(await page.openShared().ended()).toEqual(idle);
    page.signIn('ada');
    return page;
  }

  test('less than a second before a sign-out is shown again to the same user, once', async () => {
    const { openShared, kinds, storage } = await show(undefined, 900);
    expect(await openShared().ended()).toMatchObject(done);
    expect(await openShared().ended()).toEqual(idle);
    expect([kinds(), storage.items.size]).toEqual([['mutation', 'settle'], 0]);
  });

  test.each<[string, string | undefined, number]>([
    ['for a second', undefined, 1_100],
    ['to a user who is still there', 'ada', 0],
  ])('%s is not shown again', async (_, user, forMs) => {
    const { openShared, kinds } = await show(user, forMs);
    expect(await openShared().ended()).toEqual(idle);
    expect(kinds()).toEqual(['mutation']);
  });
});

type Items = Map<string, string>;
test.each<[string, Reply, object, (items: Items) => Items]>([
  ['that replaces it in mid-write, as in a hot reload, asks', executed, done, (items) => items],
  ['of a duplicated tab asks', executed, done, (items) => new Map(items)],
  ['settles what was not executed yet', notExecuted, settledError, (items) => items],
])('a component %s, both say so, and nothing is sent again', async (...row) => {
  const [, settling, state, itemsOf] = row;
  const { open, kinds, storage } = await start([never], settling);
  const first = open('ada', { attemptMs: 60_000 });
  first.submit('Ada');
  await until(() => kinds().length > 0);
  const other = open('ada', { storage: createStorage(itemsOf(storage.items)) });
  expect(await other.ended()).toMatchObject(state);
  first.cancel();
  expect(await first.ended()).toMatchObject(state);
  expect(kinds()).toEqual(['mutation', 'settle', 'settle']);
});

test('after a double click that was joined, the next component asks about the write that was sent', async () => {
  replace(native, 'document', {});
  const { open, kinds, keys } = await start([saved], executed);
  const write = open('ada', { doubleClickMs: 60_000 });
  await write.click();
  write.dismiss();
  // Nobody sees how this one ends.
  write.submit('Ada');
  await write.endedUnseen();
  expect(await open().ended()).toMatchObject(done);
  expect(kinds()).toEqual(['mutation', 'settle']);
  expect(new Set(keys()).size).toBe(1);
});

test('a write in progress is not said to be not sent after a later attempt was not', async () => {
  const busy = requestError('OVERLOADED', { retryable: true });
  const { open } = await start([unknown('IN_PROGRESS'), busy, saved]);
  const write = open('ada', { patienceMs: 60_000 });
  expect(await write.click()).toMatchObject(done);
  expect(write.waits).toEqual(['in-progress', 'in-progress']);
});

test('a write of which one field was sent is not said to be not sent', async () => {
  const busy = {
    path: ['other'],
    extensions: { code: 'UPSTREAM_BUSY', requestId: '7', retryable: true },
  };
  const partly = json({
    data: { save: { __typename: 'ApproversSaved' }, other: null },
    errors: [busy],
  });
  const { open } = await start([partly, saved]);
  const write = open('ada', { patienceMs: 60_000 });
  expect(await write.click()).toMatchObject(done);
  expect(write.waits).toEqual(['lost']);
});

/** Two buttons of one page, which share a client, but no storage. */
async function startTwoButtons(replies: Reply[], ...names: string[]) {
  replace(native, 'document', {});
  const page = await start(replies);
  const ledgerFetch = createLedgerFetch({ delayMs: 2, token: () => tokenOf('ada') });
  const writes = [0, 1].map((index) =>
    page.open('ada', { ledgerFetch, name: names[index], storage: createStorage() }),
  );
  return { ...page, writes };
}

test.each([
  ['without names', [], 1],
  ['with one name', ['row-1', 'row-1'], 1],
  ['with a name each', ['row-1', 'row-2'], 2],
  ['of which one has a name', ['row-1'], 2],
])('clicks on two buttons %s: %j are %i writes', async (_, names, arrivals) => {
  const { writes, keys } = await startTwoButtons([saved], ...names);
  const states = await Promise.all(writes.map(({ click }) => click()));
  expect(states).toEqual([expect.objectContaining(done), expect.objectContaining(done)]);
  expect(new Set(keys()).size).toBe(arrivals);
  expect(keys()).toHaveLength(arrivals);
});

test('both clicks of a double click hear why the write takes longer', async () => {
  const { writes } = await startTwoButtons([cut, saved]);
  await Promise.all(writes.map(({ click }) => click()));
  expect(writes.map(({ waits }) => waits)).toEqual([['lost'], ['lost']]);
});

test('a double click on a button whose write ends at once is one write', async () => {
  const { writes, kinds } = await startTwoButtons([saved], 'row-1');
  const [write] = writes;
  expect(await write?.click()).toMatchObject(done);
  expect(await write?.click()).toMatchObject(done);
  expect(kinds()).toEqual(['mutation']);
});

test.each([undefined, 2_000])(
  'the second click of a double click does not cancel: doubleClickMs %p',
  async (doubleClickMs) => {
    const { reply, release } = hold(saved);
    const { open, kinds } = await start([reply, saved]);
    let now = performance.now();
    replace(native.performance, 'now', () => now);
    const write = open('ada', { doubleClickMs, attemptMs: 1e6 });
    const ended = write.click();
    now += (doubleClickMs ?? 500) - 1;
    write.cancel();
    await until(() => kinds().length > 0);
    write.cancel();
    expect(write.getState().phase).toBe('sending');
    release();
    expect(await ended).toMatchObject(done);
    expect(kinds()).toEqual(['mutation']);
  },
);

test('after that, a click on "Cancel" cancels', async () => {
  const { open, kinds } = await start([never], notExecuted);
  let now = Math.round(performance.now());
  replace(native.performance, 'now', () => now);
  const write = open('ada', { doubleClickMs: 500, attemptMs: 1e6 });
  const ended = write.click();
  await until(() => kinds().length > 0);
  now += 500;
  write.cancel();
  expect(await ended).toMatchObject(settledError);
  expect(kinds()).toEqual(['mutation', 'settle']);
});

test('the types know which members are done and refused, and skip that of Relay for unknown ones', () => {
  type Named<Name> = { readonly __typename: Name; readonly message: string };
  type OfRelay = Named<'ApproversSaved'> | Named<'LedgerFailed'> | Named<'LedgerOutcomeUnknown'>;
  const describe = (state: WriteState<OfRelay | { readonly __typename: '%other' }>) => {
    if (state.phase === 'done') return state.member.message satisfies string;
    if (state.phase === 'refused') return state.member.__typename satisfies 'LedgerFailed';
    return state.phase;
  };
  const done = { __typename: 'ApproversSaved', message: 'Saved.' } as const;
  expect(describe({ phase: 'done', member: done })).toBe('Saved.');
});
