import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import {
  type AnyResult,
  createLedgerFetch,
  createWrite,
  isLocked,
  type SettleOptions,
  type WriteState,
} from '../../packages/client/src/index.ts';
import { startHttpServer } from '../support/http-server.ts';

/** Where the package runs. Node has no `reportError`. */
declare const native: typeof globalThis;

type Reply = (response: ServerResponse) => void;
type Member = { __typename: 'ApproversSaved' } | { __typename: 'LedgerFailed' };

const json =
  (body: unknown): Reply =>
  (response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  };
const member = (outcome: object) => json({ data: { save: outcome } });
const unknown = (code: string) => member({ __typename: 'LedgerOutcomeUnknown', code });
const saved = member({ __typename: 'ApproversSaved' });
const settled = (writes: object[]) =>
  json({ data: { settleWrites: { isComplete: true, writes } } });
const notExecuted = settled([]);
const executed = settled([{ responseName: 'save', outcome: { __typename: 'ApproversSaved' } }]);
const cut: Reply = (response) => response.socket?.resetAndDestroy();
const failed = json({
  errors: [{ message: '', path: ['save'], extensions: { code: 'FORBIDDEN', requestId: '7' } }],
});

const tokenOf = (sub: string) => `e30.${btoa(JSON.stringify({ iss: 'issuer', sub }))}.`;

function createStorage() {
  const items = new Map<string, string>();
  return {
    items,
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, text: string) => void items.set(name, text),
    removeItem: (name: string) => void items.delete(name),
  };
}

const createFullStorage = () => ({
  ...createStorage(),
  setItem() {
    throw new Error('QuotaExceededError');
  },
});

/** Waits for the error that the package reports. */
const waitForReport = () =>
  new Promise<unknown>((resolve) => {
    const reportError = (error: unknown) => {
      Reflect.deleteProperty(native, 'reportError');
      resolve(error);
    };
    Object.assign(native, { reportError });
  });

/** A gateway that replies to mutations and to `settleWrites`, and the pages of one tab. */
async function start(reply: Reply, settling: Reply = notExecuted, storage = createStorage()) {
  const replies = { reply, settling };
  const arrivals: string[] = [];
  const keys: unknown[] = [];
  const { origin } = await startHttpServer(async (request, response) => {
    const body = await text(request);
    const isSettling = body.includes('SettleWrites');
    const { 'idempotency-key': key = JSON.parse(body).variables.idempotencyKey } = request.headers;
    keys.push(key);
    arrivals.push(isSettling ? 'settle' : 'mutation');
    (isSettling ? replies.settling : replies.reply)(response);
  });

  function open(
    user = 'ada',
    options: Partial<SettleOptions> & { name?: string } = {},
    kept = storage,
  ) {
    const token = () => tokenOf(user);
    const ledger = { url: origin, token, delayMs: 2, patienceMs: 50, attemptMs: 1_000, ...options };
    const ledgerFetch = createLedgerFetch({ doubleClickMs: 0, ...ledger });
    const write = createWrite({
      ...ledger,
      field: 'save',
      storage: kept,
      async send(headers, name: string): Promise<AnyResult<{ save: Member }>> {
        const body = JSON.stringify({ query: 'mutation { save }', variables: { name } });
        return (await ledgerFetch(origin, { method: 'POST', headers, body })).json();
      },
    });
    const phases: string[] = [];
    const ended = () =>
      new Promise<ReturnType<typeof write.getState>>((resolve) => {
        const look = () => {
          const { phase } = write.getState();
          if (phases.at(-1) !== phase) phases.push(phase);
          if (phase === 'sending' || phase === 'asking') return;
          unsubscribe();
          resolve(write.getState());
        };
        const unsubscribe = write.subscribe(look);
        queueMicrotask(look);
      });
    return { ...write, phases, ended };
  }
  return { replies, arrivals, keys, storage, open };
}

test.each<[string, Reply, unknown]>([
  ['done', saved, { member: { __typename: 'ApproversSaved' } }],
  ['refused', member({ __typename: 'LedgerFailed' }), { member: { __typename: 'LedgerFailed' } }],
  ['failed', failed, { error: { code: 'FORBIDDEN' } }],
  ['unknown', member({ __typename: 'LedgerUnrecognizedStatus' }), { mayAsk: false }],
  ['unknown', member({ __typename: 'LedgerOfNewerGateway' }), { mayAsk: false }],
  ['unknown', unknown('ORPHANED'), { mayAsk: true, mayDismiss: true }],
])('a write ends as %s', async (phase, reply, state) => {
  const { open, arrivals, storage } = await start(reply);
  const write = open();
  const ended = write.ended();
  write.submit('Ada');
  // The button is locked at once.
  expect(isLocked(write.getState())).toBe(true);
  write.submit('Ada');

  expect(await ended).toMatchObject({ phase, ...(state as object) });
  expect(arrivals).toEqual(['mutation']);

  write.dismiss();
  expect(write.getState()).toEqual({ phase: 'idle' });
  expect(storage.items.size).toBe(0);
});

test('what is lost stays locked until it was asked about', async () => {
  const { replies, open, arrivals, storage } = await start(cut, cut);
  const write = open();
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'unknown', mayAsk: true });

  const before = arrivals.filter((kind) => kind === 'mutation').length;
  write.dismiss();
  write.submit('Ada');
  expect(write.getState().phase).toBe('unknown');
  replies.settling = executed;
  write.askAgain();
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(arrivals.filter((kind) => kind === 'mutation')).toHaveLength(before);
  expect(storage.items.size).toBe(0);
});

/** What a page finds in which the response to a write was lost that was executed. */
async function startLost() {
  const page = await start(cut, cut);
  const left = page.open();
  left.submit('Ada');
  await left.ended();
  page.replies.settling = executed;
  page.arrivals.length = 0;
  return page;
}

test('a page that was left asks for its user alone', async () => {
  const { open, arrivals, storage } = await startLost();

  const ofBob = open('bob');
  expect(ofBob.getState().phase).toBe('asking');
  expect(await ofBob.ended()).toEqual({ phase: 'idle' });
  expect(arrivals).toEqual([]);

  expect(await open().ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['settle']);
  expect(storage.items.size).toBe(0);
  expect(open().getState()).toEqual({ phase: 'idle' });
});

test('a reload while no token can be had keeps the write, and its intent', async () => {
  const { open, arrivals, storage } = await startLost();
  const stored = [...storage.items];

  let user: string | undefined;
  const token = () => {
    if (user === undefined) throw new Error('Nobody is signed in.');
    return tokenOf(user);
  };
  const reloaded = open('ada', { token });
  expect(await reloaded.ended()).toMatchObject({ phase: 'unknown', mayAsk: true });
  reloaded.dismiss();
  reloaded.submit('Ada');
  reloaded.askAgain();
  expect(await reloaded.ended()).toMatchObject({ phase: 'unknown', mayAsk: true });
  expect([...storage.items]).toEqual(stored);
  expect(arrivals).toEqual([]);

  user = 'ada';
  reloaded.askAgain();
  expect(await reloaded.ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['settle']);
});

test.each([
  ['in the storage', createStorage()],
  ['with a full storage', createFullStorage()],
])(
  'a write of one user does not lock that of another on the same page, and stays %s',
  async (_, kept) => {
    const { replies, open, arrivals } = await start(cut, cut, kept);
    let user = 'ada';
    const write = open('ada', { token: () => tokenOf(user) });
    write.submit('Ada');
    await write.ended();
    user = 'bob';
    write.askAgain();
    expect(await write.ended()).toEqual({ phase: 'idle' });
    replies.reply = saved;
    replies.settling = executed;
    arrivals.length = 0;
    write.submit('Bob');
    expect(await write.ended()).toMatchObject({ phase: 'done' });

    // Her next click does not send it again.
    user = 'ada';
    write.submit('Ada');
    expect(await write.ended()).toMatchObject({ phase: 'done' });
    expect(arrivals).toEqual(['mutation', 'settle']);
    write.submit('Ada');
    expect(await write.ended()).toMatchObject({ phase: 'done' });
    expect(arrivals).toEqual(['mutation', 'settle', 'mutation']);
    expect(kept.items.size).toBe(0);
  },
);

test('two writes of one field keep their intents by their names, and those of two gateways', async () => {
  const { replies, open, arrivals, storage } = await start(cut, cut);
  const lost = open('ada', { name: 'row-1' });
  lost.submit('Row 1');
  await lost.ended();
  replies.reply = saved;
  replies.settling = executed;
  const other = open('ada', { name: 'row-2' });
  other.submit('Row 2');
  expect(await other.ended()).toMatchObject({ phase: 'done' });
  const elsewhere = { name: 'row-1', url: 'http://127.0.0.1:1/graphql' };
  expect(open('ada', elsewhere).getState()).toEqual({ phase: 'idle' });
  expect(storage.items.size).toBe(1);

  arrivals.length = 0;
  expect(await open('ada', { name: 'row-1' }).ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['settle']);
});

test('two writes of one name do not remove the intent of each other', async () => {
  const { replies, open, storage } = await start(cut, cut);
  const write = open();
  const other = open();
  write.submit('Ada');
  await write.ended();
  const stored = [...storage.items];
  replies.reply = saved;
  replies.settling = executed;
  // It asks about what may have been sent.
  other.submit('Ada');
  expect(await other.ended()).toMatchObject({ phase: 'done' });
  other.submit('Bob');
  expect(other.getState().phase).toBe('sending');
  const ended = other.ended();
  write.askAgain();
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(await ended).toMatchObject({ phase: 'done' });
  expect([...storage.items]).not.toEqual(stored);
});

test('another form without a name sends a write with other variables as its own', async () => {
  const { replies, open, arrivals, keys } = await start(cut, cut);
  const write = open();
  const other = open();
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'unknown', mayAsk: true });
  const [key] = keys;
  replies.reply = saved;
  keys.length = 0;
  arrivals.length = 0;
  other.submit('Bob');
  expect(await other.ended()).toMatchObject({ phase: 'done' });
  other.dismiss();
  expect(other.getState()).toEqual({ phase: 'idle' });
  expect(arrivals).toEqual(['mutation']);
  expect(keys).not.toContain(key);

  // The first one is open still, also after a reload.
  replies.settling = executed;
  keys.length = 0;
  expect(write.getState().phase).toBe('unknown');
  expect(await open().ended()).toMatchObject({ phase: 'done' });
  expect(keys).toEqual([key]);
});

test('variables that have no text do not stop a write', async () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const { origin } = await startHttpServer((_, response) => saved(response));
  const ledgerFetch = createLedgerFetch();
  const write = createWrite({
    url: origin,
    field: 'save',
    storage: createStorage(),
    send: async (headers, _: object): Promise<AnyResult<{ save: Member }>> =>
      (
        await ledgerFetch(origin, {
          method: 'POST',
          headers,
          body: '{"query":"mutation { save }"}',
        })
      ).json(),
  });
  const ended = new Promise<void>((resolve) =>
    write.subscribe(() => {
      if (write.getState().phase === 'done') resolve();
    }),
  );
  write.submit(circular);
  await ended;
  expect(write.getState()).toMatchObject({ phase: 'done' });
});

test('an outcome that was seen later is not told again', async () => {
  const { open } = await start(saved, executed);
  const write = open();
  write.submit('Ada');
  while (write.getState().phase !== 'done') await new Promise(setImmediate);
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  write.dismiss();
  expect(open().getState()).toEqual({ phase: 'idle' });
});

test('a write in progress cannot be dismissed', async () => {
  const { open, storage } = await start(unknown('IN_PROGRESS'), cut);
  const write = open('ada', { patienceMs: 0 });
  write.submit('Ada');
  const state = { phase: 'unknown', mayAsk: true, mayDismiss: false };
  expect(await write.ended()).toMatchObject(state);
  write.dismiss();
  expect(write.getState()).toMatchObject(state);
  expect(storage.items.size).toBe(1);
});

test('a listener that fails neither unlocks a lost write nor hides its state from others', async () => {
  const { open, arrivals } = await start(cut, cut);
  const reported = waitForReport();
  const write = open();
  const fault = new Error('A fault of the page.');
  write.subscribe(() => {
    if (write.getState().phase === 'unknown') throw fault;
  });
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'unknown', mayAsk: true });
  expect(await reported).toBe(fault);
  arrivals.length = 0;
  write.submit('Ada');
  expect(write.getState().phase).toBe('unknown');
  expect(arrivals).toEqual([]);
});

test('a client that fails after it has sent leaves the outcome open', async () => {
  const { origin } = await startHttpServer((_, response) => executed(response));
  const reported = waitForReport();
  const fault = new Error('A fault of the app.');
  const write = createWrite({
    url: origin,
    field: 'save',
    storage: createStorage(),
    send() {
      throw fault;
    },
  });
  const phases: string[] = [];
  const ended = new Promise<void>((resolve) =>
    write.subscribe(() => {
      phases.push(write.getState().phase);
      if (phases.at(-1) === 'done') resolve();
      if (phases.at(-1) === 'unknown') queueMicrotask(write.askAgain);
    }),
  );
  write.submit();
  await ended;
  expect(phases).toEqual(['sending', 'unknown', 'asking', 'done']);
  expect(await reported).toBe(fault);
});

test.each(['RESPONSE_LOST', 'OUTCOME_UNKNOWN'])(
  'an error of a client that says %s is no fault of the app',
  async (code) => {
    const reported: unknown[] = [];
    Object.assign(native, { reportError: (error: unknown) => reported.push(error) });
    const errors = [{ message: code, extensions: { code, intent: 'intent' } }];
    const write = createWrite({
      url: 'http://127.0.0.1:1',
      field: 'save',
      storage: createStorage(),
      // As graphql-request does.
      send: () => Promise.reject({ response: { errors } }),
    });
    const ended = new Promise<void>((resolve) =>
      write.subscribe(() => write.getState().phase === 'unknown' && resolve()),
    );
    write.submit();
    await ended;
    Reflect.deleteProperty(native, 'reportError');
    expect(reported).toEqual([]);
  },
);

test('a signal that aborts leaves the outcome open', async () => {
  const { open } = await start(cut, cut);
  const controller = new AbortController();
  const write = open('ada', { signal: controller.signal });
  write.submit('Ada');
  await write.ended();
  controller.abort();
  write.askAgain();
  expect(await write.ended()).toMatchObject({ phase: 'unknown', mayAsk: true });
});

test.each([
  ['the token', { token: () => new Promise<string>(() => {}) }, 'Ada'],
  ['the variables', {}, new Promise<string>(() => {})],
])(
  'cancel ends at once while it waits for %s, and sends nothing',
  async (_, options, variables) => {
    const { open, arrivals, storage } = await start(saved);
    const write = open('ada', options);
    write.submit(variables);
    write.cancel();
    expect(write.getState()).toMatchObject({ phase: 'failed', error: { code: 'CANCELLED' } });
    expect(arrivals).toEqual([]);
    expect(storage.items.size).toBe(0);
  },
);

test('cancel ends at once while the client waits for the token, and sends nothing', async () => {
  const { open, arrivals, storage } = await start(saved);
  let asked = 0;
  let isWaiting = () => {};
  const waiting = new Promise<void>((resolve) => {
    isWaiting = resolve;
  });
  const token = () => {
    asked += 1;
    // The first one is for the write itself.
    if (asked === 1) return tokenOf('ada');
    isWaiting();
    return new Promise<string>(() => {});
  };
  const write = open('ada', { token, attemptMs: 60_000 });
  const ended = write.ended();
  write.submit('Ada');
  await waiting;
  write.cancel();
  expect(await ended).toMatchObject({ phase: 'failed', error: { code: 'CANCELLED' } });
  expect(arrivals).toEqual([]);
  expect(storage.items.size).toBe(0);
});

test('a page that is left before the token arrives has sent nothing, and then shows nothing', async () => {
  const { open, arrivals } = await start(saved);
  const left = open('ada', { token: () => new Promise<string>(() => {}) });
  left.submit('Ada');
  expect(left.getState().phase).toBe('sending');
  expect(open().getState()).toEqual({ phase: 'idle' });
  expect(arrivals).toEqual([]);
});

test('a click that was cancelled before it was sent is not sent after the next one', async () => {
  const { open, arrivals } = await start(saved);
  const tokens: ((token: string) => void)[] = [];
  let isSlow = true;
  const token = () =>
    isSlow ? new Promise<string>((resolve) => tokens.push(resolve)) : tokenOf('ada');
  const write = open('ada', { token });
  write.submit('first');
  while (tokens.length === 0) await new Promise(setImmediate);
  write.cancel();
  isSlow = false;
  write.submit('second');
  for (const resolve of tokens) resolve(tokenOf('ada'));
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['mutation']);
});

test('without a token, nothing is sent', async () => {
  const { open, arrivals, storage } = await start(saved);
  const write = open('ada', { token: () => Promise.reject(new Error('Nobody is signed in.')) });
  write.submit('Ada');
  const error = { code: 'SIGN_IN_FAILED' };
  expect(await write.ended()).toMatchObject({ phase: 'failed', error });
  expect(arrivals).toEqual([]);
  expect(storage.items.size).toBe(0);
});

test('a click is not sent as another user, who signs in before it is sent', async () => {
  const { open, arrivals } = await start(saved);
  const tokens = [tokenOf('ada')];
  const write = open('ada', { token: () => tokens.pop() ?? tokenOf('bob') });
  write.submit('Ada');
  // What became of it is told to Ada alone.
  expect(await write.ended()).toEqual({ phase: 'idle' });
  expect(arrivals).toEqual([]);
  const error = { code: 'IDEMPOTENCY_KEY_SETTLED' };
  expect(await open().ended()).toMatchObject({ phase: 'failed', error });
  expect(arrivals).toEqual(['settle']);
});

/** A page that stays open while another user signs in, before a response arrives. */
async function startShared(next: string | undefined, reply = saved) {
  let user: string | undefined = 'ada';
  const page = await start(reply, executed);
  const token = () => {
    if (user === undefined) throw new Error('Nobody is signed in.');
    return tokenOf(user);
  };
  const signIn = (name: string | undefined) => {
    user = name;
  };
  page.replies.reply = (response) => {
    signIn(next);
    reply(response);
  };
  return { ...page, signIn, write: page.open('ada', { token }) };
}

test.each([
  ['done', saved],
  ['refused', member({ __typename: 'LedgerFailed' })],
  ['failed', failed],
  ['unknown', unknown('ORPHANED')],
])('a write that ends as %s for another user is told to its owner alone', async (_, reply) => {
  const { write, signIn, arrivals, storage } = await startShared('bob', reply);
  write.submit('Ada');
  expect(await write.ended()).toEqual({ phase: 'idle' });
  expect(write.phases).toEqual(['sending', 'asking', 'idle']);
  expect(storage.items.size).toBe(1);

  // A component that is shown again asks who is there.
  expect(await write.ended()).toEqual({ phase: 'idle' });
  signIn('ada');
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['mutation', 'settle']);
  expect(storage.items.size).toBe(0);
});

test('another user who is back hears of the own write', async () => {
  const { write, signIn, replies, arrivals, keys, storage } = await startShared('ada', cut);
  signIn('bob');
  replies.settling = cut;
  write.submit('Bob');
  expect(await write.ended()).toEqual({ phase: 'idle' });
  const [key] = keys;

  replies.reply = (response) => {
    signIn('bob');
    saved(response);
  };
  replies.settling = executed;
  keys.length = 0;
  arrivals.length = 0;
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['mutation', 'settle']);
  expect(keys[1]).toBe(key);

  signIn('ada');
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(keys[2]).toBe(keys[0]);
  expect(storage.items.size).toBe(0);
});

test('an outcome that arrives while nobody is signed in is told after the sign-in', async () => {
  const { write, signIn, arrivals, storage } = await startShared(undefined);
  write.submit('Ada');
  const result = { error: { reason: 'SIGN_IN_FAILED' } };
  const state = { phase: 'unknown', mayAsk: true, mayDismiss: false, result };
  expect(await write.ended()).toMatchObject(state);
  signIn('bob');
  write.askAgain();
  expect(await write.ended()).toEqual({ phase: 'idle' });
  signIn('ada');
  write.askAgain();
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['mutation', 'settle']);
  expect(storage.items.size).toBe(0);
});

test('after another user has signed in, a click is that of this user, and "Ask again" clears what was said', async () => {
  const { write, signIn, arrivals, keys } = await startShared('ada');
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  signIn('bob');
  write.askAgain();
  expect(await write.ended()).toEqual({ phase: 'idle' });
  signIn('ada');
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['mutation', 'mutation']);
  expect(new Set(keys).size).toBe(2);
});

test('an outcome that nobody has seen is not told to another user, and stays for its owner', async () => {
  const { write, signIn, replies, arrivals, open } = await startShared('ada');
  write.submit('Ada');
  while (write.getState().phase !== 'done') await new Promise(setImmediate);
  signIn('bob');
  replies.reply = saved;
  expect(await write.ended()).toEqual({ phase: 'idle' });
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(await open().ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['mutation', 'mutation', 'settle']);
});

test('an outcome that no component has seen is told to the next one', async () => {
  const { replies, open } = await start(saved, executed);
  const replied = new Promise<void>((resolve) => {
    replies.reply = (response) => {
      saved(response);
      response.once('close', resolve);
    };
  });
  const unmounted = open();
  unmounted.submit('Ada');
  await replied;
  while (unmounted.getState().phase !== 'done') await new Promise(setImmediate);
  expect(await open().ended()).toMatchObject({ phase: 'done' });
});

test('a component that replaces another in mid-write, as in a hot reload, asks', async () => {
  const { open, arrivals } = await start(() => {}, executed);
  const replaced = open('ada', { attemptMs: 60_000 });
  replaced.submit('Ada');
  while (arrivals.length === 0) await new Promise(setImmediate);
  expect(await open().ended()).toMatchObject({ phase: 'done' });
  replaced.cancel();
  expect(await replaced.ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['mutation', 'settle', 'settle']);
});

test('a duplicated tab asks, too, and nothing is sent again', async () => {
  const { replies, open, arrivals, storage } = await start(cut, cut);
  const write = open();
  write.submit('Ada');
  await write.ended();
  replies.settling = executed;
  arrivals.length = 0;
  const copy = createStorage();
  for (const [name, item] of storage.items) copy.setItem(name, item);
  const duplicate = open('ada', {}, copy);
  expect(await duplicate.ended()).toMatchObject({ phase: 'done' });
  write.askAgain();
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['settle', 'settle']);
});

test('a duplicated tab settles what was not executed yet, and both say so', async () => {
  const { replies, open, arrivals, storage } = await start(() => {});
  const write = open('ada', { attemptMs: 60_000 });
  write.submit('Ada');
  while (arrivals.length === 0) await new Promise(setImmediate);
  const error = { code: 'IDEMPOTENCY_KEY_SETTLED' };
  expect(await open('ada', {}, { ...storage }).ended()).toMatchObject({ phase: 'failed', error });
  replies.settling = notExecuted;
  write.cancel();
  expect(await write.ended()).toMatchObject({ phase: 'failed', error });
  expect(arrivals).toEqual(['mutation', 'settle', 'settle']);
});

test('after a double click that was joined, the next component asks about the write that was sent', async () => {
  const { open, arrivals, keys } = await start(saved, executed);
  const write = open('ada', { doubleClickMs: 60_000 });
  write.submit('Ada');
  await write.ended();
  write.dismiss();
  // Nobody sees how this one ends.
  write.submit('Ada');
  while (write.getState().phase !== 'done') await new Promise(setImmediate);
  expect(await open().ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['mutation', 'settle']);
  expect(new Set(keys).size).toBe(1);
});

test('a write in progress is not said to be not sent after a later attempt was not', async () => {
  const { replies, open } = await start(saved);
  const busy = json({
    errors: [{ message: '', extensions: { code: 'OVERLOADED', requestId: '7', retryable: true } }],
  });
  const each = [unknown('IN_PROGRESS'), busy, saved];
  replies.reply = (response) => each.shift()?.(response);
  const write = open('ada', { patienceMs: 60_000 });
  const waits: unknown[] = [];
  write.subscribe(() => {
    const state = write.getState();
    if (state.phase === 'sending' && state.wait) waits.push(state.wait);
  });
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'done' });
  expect(waits).toEqual(['in-progress', 'lost']);
});

test('cancel stops a write, and tells what became of it', async () => {
  const { open, arrivals } = await start(() => {}, executed);
  const write = open('ada', { attemptMs: 60_000 });
  const ended = write.ended();
  write.submit('Ada');
  while (arrivals.length === 0) await new Promise(setImmediate);
  write.cancel();
  expect(await ended).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['mutation', 'settle']);
});

test('variables that cannot be obtained are not sent', async () => {
  const { open, arrivals } = await start(saved);
  const write = open();
  write.submit(Promise.reject(new Error('The file is gone.')));
  expect(await write.ended()).toEqual({ phase: 'idle' });
  expect(arrivals).toEqual([]);
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

test('a full storage does not stop a write', async () => {
  const { open } = await start(saved, notExecuted, createFullStorage());
  const write = open();
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'done' });
});
