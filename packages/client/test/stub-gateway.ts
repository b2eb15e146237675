import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect } from '@jest/globals';
import { closeAfterTest } from '../../../testkit/cleanup.ts';
import { startHttpServer } from '../../../testkit/http-server.ts';
import { createLedgerFetch, type LedgerFetchOptions, readField } from '../src/index.ts';
import { arriving, PROBE } from '../src/known-intent.ts';

export type Reply = (response: ServerResponse) => void;
export type Data = { save: { __typename: string } };

/** A GraphQL response. */
export const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Reply =>
  (response) => {
    const type = { 'content-type': 'application/graphql-response+json' };
    response.writeHead(status, { ...type, ...headers }).end(JSON.stringify(body));
  };

/** A page of a proxy. */
export const html =
  (status: number): Reply =>
  (response) =>
    response.writeHead(status).end('<html>');

export const member = (outcome: object) => json({ data: { save: outcome } });
export const unknown = (code: string) => member({ __typename: 'LedgerOutcomeUnknown', code });
export const saved = member({ __typename: 'ApproversSaved' });
export const cut: Reply = (response) => response.socket?.resetAndDestroy();
export const never: Reply = () => {};

const error = (code: string, extensions: object) => ({
  message: '',
  extensions: { code, requestId: '7', ...extensions },
});

/** An error of the gateway that concerns the field. */
export const fieldError = (
  code: string,
  extensions = {},
  more: object = {},
  headers?: Record<string, string>,
) => {
  const errors = [{ ...error(code, extensions), path: ['save'], ...more }];
  return json({ data: { save: null }, errors }, 200, headers);
};

/** An error of the gateway without a path. */
export const requestError = (
  code: string,
  extensions = {},
  ...response: [status?: number, headers?: Record<string, string>]
) => json({ errors: [error(code, extensions)] }, ...response);

export const settled = (writes: object[], isComplete = true, keyArrived: unknown = true) =>
  json({ data: { settleWrites: { isComplete, writes, keyArrived } } });
export const notExecuted = settled([]);
export const executed = settled([
  { responseName: 'save', outcome: { __typename: 'ApproversSaved' } },
]);

/** What `readField` says of `saved`, and of an error. */
export const kept = { kind: 'member', member: { __typename: 'ApproversSaved' } };
export const errorOf = (code: string) => ({
  kind: 'error',
  error: expect.objectContaining({ code }),
});

/** A new token of a user. */
export const tokenOf = (sub: string) =>
  `e30.${btoa(JSON.stringify({ iss: 'issuer', sub, at: Math.random() }))}.`;

type Arrival = {
  kind: 'mutation' | 'settle';
  key: unknown;
  age: string | undefined;
  headers: IncomingHttpHeaders;
  body: string;
};

/**
 * Starts a gateway that gives these replies to mutations, one after the other, and the last one from then on, and
 * `settling` to `settleWrites`. A test may replace both, and forget the requests so far. This page has asked before whether keys
 * arrive there. Another page asks, gets `probing`, and its question is one of the `probes`.
 */
export async function startStubGateway(replies: Reply[], settling: Reply = notExecuted) {
  const script = { replies, settling, probing: settled([]) };
  const requests: Arrival[] = [];
  const probes: Omit<Arrival, 'kind'>[] = [];
  const { origin } = await startHttpServer(async (request, response) => {
    const { headers, method } = request;
    // The package asks so whether there is a connection.
    if (method === 'HEAD') return response.end();
    const body = await text(request);
    const kind = body.includes('SettleWrites') ? 'settle' : 'mutation';
    const { 'idempotency-key': key, 'idempotency-key-age': age } = headers;
    const arrival = { key, age: kind === 'mutation' ? age?.toString() : undefined, headers, body };
    if (key === PROBE) {
      probes.push(arrival);
      return script.probing(response);
    }
    requests.push({ kind, ...arrival });
    if (kind === 'settle') return script.settling(response);
    const reply = script.replies.length > 1 ? script.replies.shift() : script.replies[0];
    reply?.(response);
  });
  arriving.add(origin);
  return {
    origin,
    script,
    requests,
    probes,
    kinds: () => requests.map(({ kind }) => kind),
    keys: () => requests.map(({ key }) => key),
    ages: () => requests.map(({ age }) => age),
  };
}

/** The mutation as an app sends it. */
export const init = (variables: object = {}, headers: object = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: 'Bearer token', ...headers },
  body: JSON.stringify({ query: 'mutation { save { __typename } }', variables }),
});

/** Creates a client that repeats soon. What it returns sends the mutation, and reads the result of its field. */
export function createSave(url: string, options: LedgerFetchOptions = {}) {
  const ledgerFetch = createLedgerFetch({ delayMs: 2, patienceMs: 300, ...options });
  return async (request = init()) => {
    const response = await ledgerFetch(url, request);
    return readField<Data, 'save'>(await response.json(), 'save');
  };
}

/** Sends it by a client of its own. */
export const save = (url: string, options?: LedgerFetchOptions, request?: RequestInit) =>
  createSave(url, options)(request);

/** A storage of a tab. */
export function createStorage(items = new Map<string, string>()) {
  return {
    items,
    getItem: (name: string) => items.get(name) ?? null,
    setItem: (name: string, text: string) => void items.set(name, text),
    removeItem: (name: string) => void items.delete(name),
  };
}

/** Replaces a property until the test ends. */
export function replace(object: object, name: string, value: unknown): void {
  const own = Object.getOwnPropertyDescriptor(object, name);
  Object.defineProperty(object, name, { value, configurable: true, writable: true });
  closeAfterTest(() => {
    if (own) Object.defineProperty(object, name, own);
    else Reflect.deleteProperty(object, name);
  });
}

/** A reply that does not come before `release` is called, and then is this one. */
export function hold(reply: Reply) {
  let release = () => {};
  const isReleased = new Promise<void>((resolve) => {
    release = resolve;
  });
  return {
    reply: (response: ServerResponse) => void isReleased.then(() => reply(response)),
    release,
  };
}
