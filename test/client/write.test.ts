import type { ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import {
  type AnyResult,
  createLedgerFetch,
  createWrite,
  isLocked,
  type LedgerFetchOptions,
} from '../../packages/client/src/index.ts';
import { startHttpServer } from '../support/http-server.ts';

type Reply = (response: ServerResponse) => void;
type Member = { __typename: 'ApproversSaved' } | { __typename: 'LedgerFailed' };

const json =
  (body: unknown): Reply =>
  (response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(body));
  };
const member = (outcome: object) => json({ data: { save: outcome } });
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

/** A gateway that replies to mutations and to `settleWrites`, and the pages of one tab. */
async function start(reply: Reply, settling: Reply = notExecuted, storage = createStorage()) {
  const replies = { reply, settling };
  const arrivals: string[] = [];
  const { origin } = await startHttpServer(async (request, response) => {
    const isSettling = (await text(request)).includes('SettleWrites');
    arrivals.push(isSettling ? 'settle' : 'mutation');
    (isSettling ? replies.settling : replies.reply)(response);
  });

  function open(user = 'ada', options: LedgerFetchOptions = {}) {
    const token = () => tokenOf(user);
    const ledger = { url: origin, token, delayMs: 2, patienceMs: 50, attemptMs: 100, ...options };
    const ledgerFetch = createLedgerFetch({ ...ledger, doubleClickMs: 0 });
    const write = createWrite({
      ...ledger,
      field: 'save',
      storage,
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
  return { replies, arrivals, storage, open };
}

test.each<[string, Reply, unknown]>([
  ['done', saved, { member: { __typename: 'ApproversSaved' } }],
  ['refused', member({ __typename: 'LedgerFailed' }), { member: { __typename: 'LedgerFailed' } }],
  ['failed', failed, { error: { code: 'FORBIDDEN' } }],
  ['unknown', member({ __typename: 'LedgerUnrecognizedStatus' }), { mayAsk: false }],
  ['unknown', member({ __typename: 'LedgerOfNewerGateway' }), { mayAsk: false }],
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

test('a page that was left asks for its user alone', async () => {
  const { replies, open, arrivals, storage } = await start(cut, cut);
  const left = open();
  left.submit('Ada');
  await left.ended();
  replies.settling = executed;
  arrivals.length = 0;

  const ofBob = open('bob');
  expect(ofBob.getState().phase).toBe('asking');
  expect(await ofBob.ended()).toEqual({ phase: 'idle' });
  expect(arrivals).toEqual([]);

  expect(await open().ended()).toMatchObject({ phase: 'done' });
  expect(arrivals).toEqual(['settle']);
  expect(storage.items.size).toBe(0);
  expect(open().getState()).toEqual({ phase: 'idle' });
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

test('a full storage does not stop a write', async () => {
  const storage = createStorage();
  storage.setItem = () => {
    throw new Error('QuotaExceededError');
  };
  const { open } = await start(saved, notExecuted, storage);
  const write = open();
  write.submit('Ada');
  expect(await write.ended()).toMatchObject({ phase: 'done' });
});
